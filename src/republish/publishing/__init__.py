"""What happens around one publish: folders, dates, records, private files, upkeep and export."""
