"""The referee: matches, ladders and servers, and the tools around them."""
