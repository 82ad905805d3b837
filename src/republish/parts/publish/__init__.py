"""One release made in parts: plan, routes, groups, shards."""
