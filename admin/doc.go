// Package admin is the HTTP side of a server, for people, scripts and monitors:
// a JSON API under /v1, /livez, /readyz and /metrics, an address server for brokers
// and clients under /rocketmq, and the client of that API which the command line
// uses.
//
// It holds no state of its own and knows neither Raft nor the wire of RocketMQ.
// What it asks for is declared here as the small interfaces Cluster and Tables;
// whoever wires the server implements them. It does not decide whether a change
// is allowed beyond asking for the token, and it retries nothing: the outcome of
// a change whose answer was lost is for the caller to read back.
//
// # API
//
// Names in a path are one escaped segment each, whatever they contain: the key
// a/b of namespace %RETRY%g is /v1/kv/%25RETRY%25g/a%2Fb. A body is one JSON
// object without unknown members. A failure is answered with its status and
// {"error": text, "kind": word}; the kinds are the constants of type Kind. To change
// or remove what does not exist is one, of kind not_found.
//
// A read that no leader confirmed is answered from the last state that the peer knew,
// with the header Namesrv-Unconfirmed: true.
//
//	GET    /v1/members                    the peers of the group
//	POST   /v1/members                    {"id", "address", "replace"}: a peer joins
//	DELETE /v1/members/{id}?force=        a member is removed
//	POST   /v1/leader                     {"to": id, or "" for anybody}
//	GET    /v1/status                     this peer
//	GET    /v1/health                     can the group work and bear a loss, and why not
//	GET    /v1/config                     settings: [{"name", "value", "after_restart", "shared", "note"}]
//	PATCH  /v1/config                     {name: value, …}
//	GET    /v1/snapshot                   the tables, in the server's own binary form
//	PUT    /v1/snapshot?cluster=&force=   the tables are replaced by saved ones; id= names the restore
//	GET    /v1/snapshot/restore           {"restored", "running", "bytes"}: what became of restores
//	GET    /v1/kv                         all keys of all namespaces
//	GET    /v1/kv/{ns}                    all keys of a namespace
//	GET    /v1/kv/{ns}/{key}              one value
//	PUT    /v1/kv/{ns}/{key}              {"value": text}
//	DELETE /v1/kv/{ns}/{key}
//	GET    /v1/topics                     names, sorted
//	GET    /v1/topics/{topic}/route       the route body in its standard dialect
//	DELETE /v1/topics/{topic}?cluster=    of one cluster, or of all
//	GET    /v1/brokers                    one entry an address
//	POST   /v1/brokers/{name}/wipe-write  {"count": topics changed}
//	POST   /v1/brokers/{name}/add-write
//
// When a token is configured, /v1 asks for it in an Authorization: Bearer header;
// health, metrics and /rocketmq stay open. Browsers are refused changes from foreign pages.
//
// # Concurrency
//
// Handlers and clients are safe for concurrent use, and so must be the Cluster
// and Tables they are given. Each request has a deadline, carried by its context.
package admin
