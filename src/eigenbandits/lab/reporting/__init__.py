"""What people read: style, statistics, tables, figures and the HTML report."""
