"""What people and machines said of one benchmark elsewhere, added to what was said here."""
