"""Agreement of people's labels, cut every way a report shows it. Pure: rows in, dataclasses out."""
