"""What the columns of a table are understood to be: how cells are spelled, what is missing, who labels them."""
