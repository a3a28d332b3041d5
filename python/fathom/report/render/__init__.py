"""How a report is shown: as a page, as PDF, as Markdown, as pictures."""
