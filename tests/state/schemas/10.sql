-- A state as schema 10 wrote it. Never edit: a new version gets a new dump.
BEGIN TRANSACTION;
CREATE TABLE afters (
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state, intent), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
INSERT INTO "afters" VALUES(1,2,'{"acme/space/start":{"title":"Guides"}}');
CREATE TABLE approvals (
	state INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (state, run), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "approvals" VALUES(1,'run-1','9f86d081884c7d65');
CREATE TABLE befores (
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state, intent), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
INSERT INTO "befores" VALUES(1,2,'{"absent":[],"replaces":null,"stood":null,"values":{"title":"Guide"}}');
CREATE TABLE bindings (
	state INTEGER NOT NULL, 
	address TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	id TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	protected BOOLEAN NOT NULL, 
	place_parent TEXT, 
	place_index INTEGER, 
	PRIMARY KEY (state, address), 
	UNIQUE (state, kind, id), 
	FOREIGN KEY(state) REFERENCES states (id)
)
 WITHOUT ROWID

;
INSERT INTO "bindings" VALUES(1,'acme/space/guides','space','id-guides','created',0,NULL,NULL);
CREATE TABLE consents (
	state INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state, run), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "consents" VALUES(1,'run-2','[["acme/site/docs","published","","","","true"]]');
CREATE TABLE fields (
	state INTEGER NOT NULL, 
	address TEXT NOT NULL, 
	name TEXT NOT NULL, 
	sent TEXT, 
	seen TEXT, 
	PRIMARY KEY (state, address, name), 
	FOREIGN KEY(state, address) REFERENCES bindings (state, address) ON DELETE CASCADE ON UPDATE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "fields" VALUES(1,'acme/space/guides','title','"a"','null');
CREATE TABLE journal (
	state INTEGER NOT NULL, 
	id INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	run TEXT NOT NULL, 
	step INTEGER NOT NULL, 
	address TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	verb TEXT NOT NULL, 
	method TEXT NOT NULL, 
	path TEXT NOT NULL, 
	target TEXT, 
	writes TEXT NOT NULL, 
	known TEXT NOT NULL, 
	date TEXT, 
	deadline TEXT, 
	brings TEXT NOT NULL, 
	lookup TEXT NOT NULL, 
	PRIMARY KEY (state, id), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "journal" VALUES(1,1,'2026-11-18T10:30:00+00:00','run-1',7,'acme/space/guides','space','create','POST','/v1/orgs/o/spaces',NULL,'{"title":"Guides"}','06394624f2cd704e4dd0d91ccd71790d2cf253c14308d9555bd2baeacda0df99','2026-11-18T10:30:00+00:00','2026-11-18T10:30:30+00:00','{"page":"acme/space/guides"}','["/v1/orgs/o/spaces"]');
INSERT INTO "journal" VALUES(1,2,'2026-11-18T10:30:00+00:00','run-1',7,'acme/space/start','space','create','POST','/v1/orgs/o/spaces',NULL,'{"title":"Guides"}','06394624f2cd704e4dd0d91ccd71790d2cf253c14308d9555bd2baeacda0df99','2026-11-18T10:30:00+00:00','2026-11-18T10:30:30+00:00','{"page":"acme/space/guides"}','["/v1/orgs/o/spaces"]');
CREATE TABLE known (
	state INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	ids TEXT NOT NULL, 
	PRIMARY KEY (state, digest), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "known" VALUES(1,'06394624f2cd704e4dd0d91ccd71790d2cf253c14308d9555bd2baeacda0df99','["s1","s2"]');
CREATE TABLE leases (
	state INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	run TEXT, 
	who TEXT, 
	command TEXT, 
	since TEXT, 
	expires FLOAT, 
	PRIMARY KEY (state), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "leases" VALUES(1,2,'run-2','ada@desk','reconciler apply','2026-11-18T10:30:00+00:00',NULL);
CREATE TABLE open_intents (
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	PRIMARY KEY (state, intent), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
INSERT INTO "open_intents" VALUES(1,1);
CREATE TABLE outcomes (
	id INTEGER NOT NULL, 
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	run TEXT NOT NULL, 
	status TEXT NOT NULL, 
	error TEXT, 
	bound TEXT NOT NULL, 
	forgotten TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "outcomes" VALUES(1,1,2,'2026-11-18T10:30:00+00:00','run-1','failed','the service refused it','{}','[]');
CREATE TABLE page_trees (
	state INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	id TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	pages TEXT NOT NULL, 
	PRIMARY KEY (state, kind, id), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "page_trees" VALUES(1,'space','spc_1','rev_1','[["pag_1","Install","install"]]');
CREATE TABLE reconciler_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "reconciler_schema" VALUES(10);
CREATE TABLE renames (
	state INTEGER NOT NULL, 
	old TEXT NOT NULL, 
	new TEXT NOT NULL, 
	PRIMARY KEY (state, old), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "renames" VALUES(1,'acme/space/handbook','acme/space/guides');
CREATE TABLE rules (
	state INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "rules" VALUES(1,'{"guards":{"max_delete_at_least":3,"max_delete_percent":20.0,"min_admins":1},"protect":["site"],"prune":{"team":"all"}}');
CREATE TABLE runs (
	id TEXT NOT NULL, 
	state INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	command TEXT NOT NULL, 
	started TEXT NOT NULL, 
	ended TEXT, 
	exit_code INTEGER, 
	summary TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "runs" VALUES('run-1',1,'ada@desk','reconciler apply','2026-11-18T10:30:00+00:00','2026-11-18T10:30:00+00:00',5,'{"done":0,"failed":1}');
INSERT INTO "runs" VALUES('run-2',1,'ada@desk','reconciler apply','2026-11-18T10:30:00+00:00',NULL,NULL,NULL);
CREATE TABLE states (
	id INTEGER NOT NULL, 
	project TEXT NOT NULL, 
	environment TEXT NOT NULL, 
	service TEXT NOT NULL, 
	lineage TEXT NOT NULL, 
	serial INTEGER NOT NULL, 
	writer TEXT, 
	digest_key BLOB NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (project, environment, service)
);
INSERT INTO "states" VALUES(1,'acme-docs','staging','https://api.example','3f6c1a52-6a0e-4d7a-9a35-1c2f6f0c9b11',1,'run-1',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
CREATE TABLE turns (
	state INTEGER NOT NULL, 
	id INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	run TEXT NOT NULL, 
	what TEXT NOT NULL, 
	address TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	target TEXT NOT NULL, 
	old TEXT, 
	PRIMARY KEY (state, id), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE TABLE url_sites (
    state INTEGER NOT NULL,
    site TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (state, site),
    FOREIGN KEY(state) REFERENCES states (id)
);
CREATE TABLE urls (
    state INTEGER NOT NULL,
    url TEXT NOT NULL,
    number INTEGER NOT NULL,
    site TEXT NOT NULL,
    page TEXT NOT NULL,
    since TEXT NOT NULL,
    run TEXT NOT NULL,
    ended TEXT,
    ender TEXT,
    PRIMARY KEY (state, url, number),
    FOREIGN KEY(state) REFERENCES states (id)
) WITHOUT ROWID;
CREATE INDEX runs_by_state ON runs (state, started);
CREATE INDEX journal_by_run ON journal (run);
CREATE INDEX outcomes_by_intent ON outcomes (state, intent);
CREATE INDEX turns_by_run ON turns (run);
INSERT INTO "url_sites" VALUES(1,'acme/site/docs','5f0c');
INSERT INTO "urls" VALUES(1,'https://docs.acme.example/a',1,'acme/site/docs','pag_a','2026-11-18T10:30:00+00:00','run-1',NULL,NULL);
CREATE INDEX urls_by_page ON urls (page);
CREATE INDEX urls_by_site ON urls (site);
COMMIT;
