"""What a finished run is worth: pure arithmetic over outcomes, no Django and no chance."""
