"""The pages of the desk: HTML made on the server, nothing decided here."""
