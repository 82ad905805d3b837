"""Raw views on their way through the desk: received, measured before they are read, compared with the schema."""
