"""Attacks by who knows how the publisher puts people together: which worlds would have led to these groups."""
