"""What a judge of support is asked, its measures, and the shapes of answers. Pure."""
