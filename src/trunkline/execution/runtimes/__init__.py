"""What runs sessions besides SemiGraph, and what is known of such programs."""
