"""From a bundle to pages: one page struct, rendered as HTML, Markdown, JSON and in the terminal; static export."""
