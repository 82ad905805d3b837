"""The BANG file: nested regions of the cube that hold the points in blocks (Freeston 1987; thesis 3.5)."""
