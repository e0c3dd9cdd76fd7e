"""What runs sessions besides SemiGraph: each runtime in a folder of its own."""
