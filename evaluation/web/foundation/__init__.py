"""Shared parts of all sites.

* `guard`: checks requests (`Host`, `Origin`, sizes, times), and sets the headers of responses;
* `connections`: limits the connections per address, and drops slow ones;
* `streams`: server-sent events that resume after `Last-Event-ID`;
* `journal`: entries are on disk before they are confirmed;
* `keys`: secret tokens in links, and the cookies they are exchanged for;
* `serving`: the application and its server.
"""
