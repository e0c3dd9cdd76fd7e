"""The REST API and the pages: typed routes over aiohttp, documented from their signatures."""
