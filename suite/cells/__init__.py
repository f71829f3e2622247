"""What a cell is, declared once: nobody else spells the name of a case to know what it means."""
