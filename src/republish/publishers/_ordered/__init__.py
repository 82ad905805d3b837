"""Groups cut from an order of the rows: what JS-reduce and BayFrame share."""
