"""The interactive console: dialogue, replay, fork, watch."""
