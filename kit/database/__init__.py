"""What Django's database layer does not give: COPY, updates of many rows, prepared statements."""
