"""Files of any format as one frame: CSV in any encoding, Parquet, workbooks, files of statistical packages."""
