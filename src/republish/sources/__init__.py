"""Any table in: files, frames, object stores and databases, read as the kinds of their columns."""
