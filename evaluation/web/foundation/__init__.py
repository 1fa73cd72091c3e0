"""What every page of this room stands on.

* `guard`: who may ask for what (`Host`, `Origin`, sizes, times), and the headers of every answer;
* `connections`: how many connections an address may hold, and what happens to slow ones;
* `streams`: server-sent events that go on after `Last-Event-ID`;
* `journal`: what was accepted, on disk before it is confirmed;
* `keys`: the secrets in links, and the cookies they are traded for;
* `serving`: the application and the server that runs it.
"""
