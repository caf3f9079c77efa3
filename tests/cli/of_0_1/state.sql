PRAGMA application_id = 0;
PRAGMA user_version = 0;
BEGIN TRANSACTION;
CREATE TABLE afters (
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state, intent), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
INSERT INTO "afters" VALUES(1,1,'{"acme/agent-instructions":{"instructions":{"data":{"schemaVersion":1},"nodes":[{"nodes":[{"leaves":[{"marks":[],"object":"leaf","text":"Answer in plain English."}],"object":"text"}],"object":"block","type":"paragraph"}],"object":"document"}}}');
INSERT INTO "afters" VALUES(1,2,'{"acme/collection/product":{"defaultLevel":null,"description":"","parent":null,"title":"Acme product"}}');
INSERT INTO "afters" VALUES(1,3,'{"acme/openapi/payments":{"slug":"payments","source":{"url":"https://example.com/payments.json"},"visibility":"private"}}');
INSERT INTO "afters" VALUES(1,4,'{"acme/saml/okta":{"certificate":"-----BEGIN CERTIFICATE-----\nMIIDTTCCAjWgAwIBAgIUEsTvZATQmmT/08Oft0vwANcsWJYwDQYJKoZIhvcNAQEL\nBQAwNTEXMBUGA1UECgwOQWNtZSAoZXhhbXBsZSkxGjAYBgNVBAMMEWFjbWUub2t0\nYS5leGFtcGxlMCAXDTI2MTEyMTA2Mjc1MFoYDzIxMjYxMDI4MDYyNzUwWjA1MRcw\nFQYDVQQKDA5BY21lIChleGFtcGxlKTEaMBgGA1UEAwwRYWNtZS5va3RhLmV4YW1w\nbGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDAQizpa/aFoC+DBTCO\nMEkeQ+cNVb2EOHCLV6mBb7mHSyI+JWfQVqK7wDePhdy1xIcR/Pb37uPUJL+CN8yf\nGNHFjYyiSua+AC2VpIfMuRv5C3EbbEbUXHrwzP38af/R2ajrpO4fk0yO4XYSap1e\nKAlgsGbbdFI/vnAg5GRKopGdQRkoIPRDwelDO7zbyB1WBk6CjJkLCLhzR5pZjTQu\nhbmrjjR3P31f769vO4XT0U+tnGISvI/p1id5sruAqSZvAzcypu9VoCuUNU3HOHiT\nH35b2GXVLFD/n9dt51Gm7s0bexSE5vC16XTbWrPODvZx9OT5l87258nGEWfX3dnW\neNnHAgMBAAGjUzBRMB0GA1UdDgQWBBQ+8oZU0K4Mudt4Deyq/bipls6m5TAfBgNV\nHSMEGDAWgBQ+8oZU0K4Mudt4Deyq/bipls6m5TAPBgNVHRMBAf8EBTADAQH/MA0G\nCSqGSIb3DQEBCwUAA4IBAQAW8gf6T4tMHlZIvE/lGZ1cerB5BRBaVkMFNEYVZ3qs\nykoM4ryE3kgbVWWhWa0HSwwg/p+gwaZA6+09BgAiBt7mJmiyYI7m+xVieRSQyMog\n44y8KYjDsGBvmu3cFpM7uEgvxlcphCDkh1c1B8bBoA8JNg8ff2IOC/6gMxZmQ2sR\nMOAM3HVPbEZlkS5EeTvwEWyH6WXCLsJ7cniWqFfX7t2oV5EGd0+w8+Hn581+SdL4\noGPyHeWaGnb+HTlwTmwGE1K6CB54Fzv0hPDtwDtPMYnKYi5msUiMP2nZSJyBdlx6\nfnRvDL0EYiyHxd1m2AJpPrmnTLzLcBazk0ZB1gazflDG\n-----END CERTIFICATE-----\n","defaultRole":null,"entityID":"https://okta.example/1","label":"Okta","ssoURL":"https://okta.example/sso"}}');
INSERT INTO "afters" VALUES(1,5,'{"acme/team/writers":{"title":"Writers"}}');
INSERT INTO "afters" VALUES(1,6,'{"acme/site/docs":{"adaptiveContent":{"enabled":false},"agentsContext":"excluded","basename":"documentation","proxy":null,"published":false,"title":"Documentation","type":"basic","visibility":"share-link"}}');
INSERT INTO "afters" VALUES(1,7,'{"acme/space/guides":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":null,"title":"Copy of Blank","visibility":"private"}}');
INSERT INTO "afters" VALUES(1,8,'{"acme/space/api":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":null,"title":"Copy of Blank","visibility":"private"}}');
INSERT INTO "afters" VALUES(1,9,'{"acme/space/guides":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":null,"title":"Guides","visibility":"private"}}');
INSERT INTO "afters" VALUES(1,10,'{"acme/space/guides":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":"col_49900d30097e","title":"Guides","visibility":"in-collection"}}');
INSERT INTO "afters" VALUES(1,11,'{"acme/site/docs/adaptive-schema":{"jsonSchema":{"additionalProperties":false,"properties":{"isCustomer":{"description":"Has a contract","type":"boolean"}},"type":"object"}}}');
INSERT INTO "afters" VALUES(1,12,'{"acme/site/docs/share-link/partners":{"active":true,"name":"Partners"}}');
INSERT INTO "afters" VALUES(1,13,'{"acme/space/api":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":null,"title":"API reference","visibility":"private"}}');
INSERT INTO "afters" VALUES(1,14,'{"acme/site/docs/section/guides":{"condition":null,"description":null,"icon":null,"path":"guides","sectionGroup":null,"title":"Guides"},"acme/site/docs/site-space/guides":{"condition":null,"path":"guides","section":"sitesc_ec0c4baed8ee","space":"spc_76cf3c663177"}}');
INSERT INTO "afters" VALUES(1,15,'{"acme/space/api":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":"col_49900d30097e","title":"API reference","visibility":"in-collection"}}');
INSERT INTO "afters" VALUES(1,16,'{"acme/site/docs/group/reference":{"icon":null,"parent":null,"title":"Reference"}}');
INSERT INTO "afters" VALUES(1,17,'{"acme/site/docs/section/api":{"condition":null,"description":null,"icon":null,"path":"api","sectionGroup":null,"title":"API"},"acme/site/docs/site-space/api":{"condition":null,"path":"api-reference","section":"sitesc_69d00bfbe782","space":"spc_5bc8f68932ac"}}');
INSERT INTO "afters" VALUES(1,18,'{"acme/site/docs/section/api":{"condition":"visitor.claims.isCustomer","description":null,"icon":null,"path":"api","sectionGroup":null,"title":"API"}}');
INSERT INTO "afters" VALUES(1,19,'{"acme/site/docs/section/api":{"sectionGroup":"sitesg_54525e122c87"}}');
INSERT INTO "afters" VALUES(1,20,'{"acme/space/guides":{"defaultLevel":null,"editMode":"live","emoji":null,"language":"en","mergeRules":{"type":"inherit"},"parent":"col_49900d30097e","title":"User guides","visibility":"in-collection"}}');
INSERT INTO "afters" VALUES(1,21,'{"acme/team/authors":{"title":"Authors"}}');
INSERT INTO "afters" VALUES(1,22,'{"acme/team/reviewers":{"title":"Reviewers"}}');
CREATE TABLE approvals (
	state INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (state, run), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE TABLE befores (
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state, intent), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
INSERT INTO "befores" VALUES(1,20,'{"absent":[],"replaces":null,"stood":null,"values":{"title":"Guides"}}');
INSERT INTO "befores" VALUES(1,21,'{"absent":[],"replaces":null,"stood":null,"values":{"title":"Writers"}}');
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
INSERT INTO "bindings" VALUES(1,'acme','organization','org_acme','adopted',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/agent-instructions','agent-instructions','org_acme/agent-instructions','created',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/collection/product','collection','col_49900d30097e','created',1,'acme',1);
INSERT INTO "bindings" VALUES(1,'acme/member/ada@acme.example','member','org_acme/usr_ada','adopted',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/openapi/payments','openapi','spec_78e8f0da9391','created',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/saml/okta','saml','saml_4c7ff6640a41','created',1,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/site/docs','site','site_1da62357fdd3','created',1,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/adaptive-schema','adaptive-schema','site_1da62357fdd3/adaptive-schema','created',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/group/reference','group','sitesg_54525e122c87','created',0,'acme/site/docs',1);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/section/api','section','sitesc_69d00bfbe782','created',0,'acme/site/docs/group/reference',0);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/section/guides','section','sitesc_ec0c4baed8ee','created',0,'acme/site/docs',0);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/share-link/partners','share-link','link_5911dbcbf837','created',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/site-space/api','site-space','sitesp_7dca91b733cb','created',0,'acme/site/docs/section/api',0);
INSERT INTO "bindings" VALUES(1,'acme/site/docs/site-space/guides','site-space','sitesp_4937e9d345a8','created',0,'acme/site/docs/section/guides',0);
INSERT INTO "bindings" VALUES(1,'acme/space/api','space','spc_5bc8f68932ac','created',1,'acme/collection/product',1);
INSERT INTO "bindings" VALUES(1,'acme/space/blank','space','spc_blank','adopted',1,'acme',0);
INSERT INTO "bindings" VALUES(1,'acme/space/guides','space','spc_76cf3c663177','created',1,'acme/collection/product',0);
INSERT INTO "bindings" VALUES(1,'acme/team/authors','team','team_b54e24d57a28','created',0,NULL,NULL);
INSERT INTO "bindings" VALUES(1,'acme/team/reviewers','team','team_6361830d1216','created',0,NULL,NULL);
CREATE TABLE consents (
	state INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state, run), 
	FOREIGN KEY(state) REFERENCES states (id), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "consents" VALUES(1,'86c6044e-3050-4c9e-8d21-d9de9d23bce8','[["acme/saml/okta","certificate","","","","\"-----BEGIN CERTIFICATE-----\\nMIIDTTCCAjWgAwIBAgIUEsTvZATQmmT/08Oft0vwANcsWJYwDQYJKoZIhvcNAQEL\\nBQAwNTEXMBUGA1UECgwOQWNtZSAoZXhhbXBsZSkxGjAYBgNVBAMMEWFjbWUub2t0\\nYS5leGFtcGxlMCAXDTI2MTEyMTA2Mjc1MFoYDzIxMjYxMDI4MDYyNzUwWjA1MRcw\\nFQYDVQQKDA5BY21lIChleGFtcGxlKTEaMBgGA1UEAwwRYWNtZS5va3RhLmV4YW1w\\nbGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDAQizpa/aFoC+DBTCO\\nMEkeQ+cNVb2EOHCLV6mBb7mHSyI+JWfQVqK7wDePhdy1xIcR/Pb37uPUJL+CN8yf\\nGNHFjYyiSua+AC2VpIfMuRv5C3EbbEbUXHrwzP38af/R2ajrpO4fk0yO4XYSap1e\\nKAlgsGbbdFI/vnAg5GRKopGdQRkoIPRDwelDO7zbyB1WBk6CjJkLCLhzR5pZjTQu\\nhbmrjjR3P31f769vO4XT0U+tnGISvI/p1id5sruAqSZvAzcypu9VoCuUNU3HOHiT\\nH35b2GXVLFD/n9dt51Gm7s0bexSE5vC16XTbWrPODvZx9OT5l87258nGEWfX3dnW\\neNnHAgMBAAGjUzBRMB0GA1UdDgQWBBQ+8oZU0K4Mudt4Deyq/bipls6m5TAfBgNV\\nHSMEGDAWgBQ+8oZU0K4Mudt4Deyq/bipls6m5TAPBgNVHRMBAf8EBTADAQH/MA0G\\nCSqGSIb3DQEBCwUAA4IBAQAW8gf6T4tMHlZIvE/lGZ1cerB5BRBaVkMFNEYVZ3qs\\nykoM4ryE3kgbVWWhWa0HSwwg/p+gwaZA6+09BgAiBt7mJmiyYI7m+xVieRSQyMog\\n44y8KYjDsGBvmu3cFpM7uEgvxlcphCDkh1c1B8bBoA8JNg8ff2IOC/6gMxZmQ2sR\\nMOAM3HVPbEZlkS5EeTvwEWyH6WXCLsJ7cniWqFfX7t2oV5EGd0+w8+Hn581+SdL4\\noGPyHeWaGnb+HTlwTmwGE1K6CB54Fzv0hPDtwDtPMYnKYi5msUiMP2nZSJyBdlx6\\nfnRvDL0EYiyHxd1m2AJpPrmnTLzLcBazk0ZB1gazflDG\\n-----END CERTIFICATE-----\\n\""],["acme/saml/okta","ssoURL","","","","\"https://okta.example/sso\""],["acme/site/docs/share-link/partners","","whoever has the share link","read","acme/site/docs/share-link/partners",""],["acme/space/blank","","agents","read","acme/space/blank",""],["acme/space/blank","","anyone","read","acme/space/blank",""]]');
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
INSERT INTO "fields" VALUES(1,'acme/agent-instructions','instructions','{"data":{"schemaVersion":1},"nodes":[{"nodes":[{"leaves":[{"marks":[],"object":"leaf","text":"Answer in plain English."}],"object":"text"}],"object":"block","type":"paragraph"}],"object":"document"}','{"data":{"schemaVersion":1},"nodes":[{"nodes":[{"leaves":[{"marks":[],"object":"leaf","text":"Answer in plain English."}],"object":"text"}],"object":"block","type":"paragraph"}],"object":"document"}');
INSERT INTO "fields" VALUES(1,'acme/collection/product','parent','null','null');
INSERT INTO "fields" VALUES(1,'acme/collection/product','title','"Acme product"','"Acme product"');
INSERT INTO "fields" VALUES(1,'acme/member/ada@acme.example','email','"ada@acme.example"','"ada@acme.example"');
INSERT INTO "fields" VALUES(1,'acme/member/ada@acme.example','role','"admin"','"admin"');
INSERT INTO "fields" VALUES(1,'acme/openapi/payments','slug','"payments"','"payments"');
INSERT INTO "fields" VALUES(1,'acme/openapi/payments','source','{"url":"https://example.com/payments.json"}','{"url":"https://example.com/payments.json"}');
INSERT INTO "fields" VALUES(1,'acme/saml/okta','certificate','"-----BEGIN CERTIFICATE-----\nMIIDTTCCAjWgAwIBAgIUEsTvZATQmmT/08Oft0vwANcsWJYwDQYJKoZIhvcNAQEL\nBQAwNTEXMBUGA1UECgwOQWNtZSAoZXhhbXBsZSkxGjAYBgNVBAMMEWFjbWUub2t0\nYS5leGFtcGxlMCAXDTI2MTEyMTA2Mjc1MFoYDzIxMjYxMDI4MDYyNzUwWjA1MRcw\nFQYDVQQKDA5BY21lIChleGFtcGxlKTEaMBgGA1UEAwwRYWNtZS5va3RhLmV4YW1w\nbGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDAQizpa/aFoC+DBTCO\nMEkeQ+cNVb2EOHCLV6mBb7mHSyI+JWfQVqK7wDePhdy1xIcR/Pb37uPUJL+CN8yf\nGNHFjYyiSua+AC2VpIfMuRv5C3EbbEbUXHrwzP38af/R2ajrpO4fk0yO4XYSap1e\nKAlgsGbbdFI/vnAg5GRKopGdQRkoIPRDwelDO7zbyB1WBk6CjJkLCLhzR5pZjTQu\nhbmrjjR3P31f769vO4XT0U+tnGISvI/p1id5sruAqSZvAzcypu9VoCuUNU3HOHiT\nH35b2GXVLFD/n9dt51Gm7s0bexSE5vC16XTbWrPODvZx9OT5l87258nGEWfX3dnW\neNnHAgMBAAGjUzBRMB0GA1UdDgQWBBQ+8oZU0K4Mudt4Deyq/bipls6m5TAfBgNV\nHSMEGDAWgBQ+8oZU0K4Mudt4Deyq/bipls6m5TAPBgNVHRMBAf8EBTADAQH/MA0G\nCSqGSIb3DQEBCwUAA4IBAQAW8gf6T4tMHlZIvE/lGZ1cerB5BRBaVkMFNEYVZ3qs\nykoM4ryE3kgbVWWhWa0HSwwg/p+gwaZA6+09BgAiBt7mJmiyYI7m+xVieRSQyMog\n44y8KYjDsGBvmu3cFpM7uEgvxlcphCDkh1c1B8bBoA8JNg8ff2IOC/6gMxZmQ2sR\nMOAM3HVPbEZlkS5EeTvwEWyH6WXCLsJ7cniWqFfX7t2oV5EGd0+w8+Hn581+SdL4\noGPyHeWaGnb+HTlwTmwGE1K6CB54Fzv0hPDtwDtPMYnKYi5msUiMP2nZSJyBdlx6\nfnRvDL0EYiyHxd1m2AJpPrmnTLzLcBazk0ZB1gazflDG\n-----END CERTIFICATE-----\n"','"-----BEGIN CERTIFICATE-----\nMIIDTTCCAjWgAwIBAgIUEsTvZATQmmT/08Oft0vwANcsWJYwDQYJKoZIhvcNAQEL\nBQAwNTEXMBUGA1UECgwOQWNtZSAoZXhhbXBsZSkxGjAYBgNVBAMMEWFjbWUub2t0\nYS5leGFtcGxlMCAXDTI2MTEyMTA2Mjc1MFoYDzIxMjYxMDI4MDYyNzUwWjA1MRcw\nFQYDVQQKDA5BY21lIChleGFtcGxlKTEaMBgGA1UEAwwRYWNtZS5va3RhLmV4YW1w\nbGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDAQizpa/aFoC+DBTCO\nMEkeQ+cNVb2EOHCLV6mBb7mHSyI+JWfQVqK7wDePhdy1xIcR/Pb37uPUJL+CN8yf\nGNHFjYyiSua+AC2VpIfMuRv5C3EbbEbUXHrwzP38af/R2ajrpO4fk0yO4XYSap1e\nKAlgsGbbdFI/vnAg5GRKopGdQRkoIPRDwelDO7zbyB1WBk6CjJkLCLhzR5pZjTQu\nhbmrjjR3P31f769vO4XT0U+tnGISvI/p1id5sruAqSZvAzcypu9VoCuUNU3HOHiT\nH35b2GXVLFD/n9dt51Gm7s0bexSE5vC16XTbWrPODvZx9OT5l87258nGEWfX3dnW\neNnHAgMBAAGjUzBRMB0GA1UdDgQWBBQ+8oZU0K4Mudt4Deyq/bipls6m5TAfBgNV\nHSMEGDAWgBQ+8oZU0K4Mudt4Deyq/bipls6m5TAPBgNVHRMBAf8EBTADAQH/MA0G\nCSqGSIb3DQEBCwUAA4IBAQAW8gf6T4tMHlZIvE/lGZ1cerB5BRBaVkMFNEYVZ3qs\nykoM4ryE3kgbVWWhWa0HSwwg/p+gwaZA6+09BgAiBt7mJmiyYI7m+xVieRSQyMog\n44y8KYjDsGBvmu3cFpM7uEgvxlcphCDkh1c1B8bBoA8JNg8ff2IOC/6gMxZmQ2sR\nMOAM3HVPbEZlkS5EeTvwEWyH6WXCLsJ7cniWqFfX7t2oV5EGd0+w8+Hn581+SdL4\noGPyHeWaGnb+HTlwTmwGE1K6CB54Fzv0hPDtwDtPMYnKYi5msUiMP2nZSJyBdlx6\nfnRvDL0EYiyHxd1m2AJpPrmnTLzLcBazk0ZB1gazflDG\n-----END CERTIFICATE-----\n"');
INSERT INTO "fields" VALUES(1,'acme/saml/okta','entityID','"https://okta.example/1"','"https://okta.example/1"');
INSERT INTO "fields" VALUES(1,'acme/saml/okta','label','"Okta"','"Okta"');
INSERT INTO "fields" VALUES(1,'acme/saml/okta','ssoURL','"https://okta.example/sso"','"https://okta.example/sso"');
INSERT INTO "fields" VALUES(1,'acme/site/docs','title','"Documentation"','"Documentation"');
INSERT INTO "fields" VALUES(1,'acme/site/docs','visibility','"share-link"','"share-link"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/adaptive-schema','jsonSchema','{"additionalProperties":false,"properties":{"isCustomer":{"description":"Has a contract","type":"boolean"}},"type":"object"}','{"additionalProperties":false,"properties":{"isCustomer":{"description":"Has a contract","type":"boolean"}},"type":"object"}');
INSERT INTO "fields" VALUES(1,'acme/site/docs/group/reference','parent','null','null');
INSERT INTO "fields" VALUES(1,'acme/site/docs/group/reference','title','"Reference"','"Reference"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/api','condition','"visitor.claims.isCustomer"','"visitor.claims.isCustomer"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/api','sectionGroup','"sitesg_54525e122c87"','"sitesg_54525e122c87"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/api','spaceId','"spc_5bc8f68932ac"',NULL);
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/api','title','"API"','"API"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/guides','sectionGroup','null','null');
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/guides','spaceId','"spc_76cf3c663177"',NULL);
INSERT INTO "fields" VALUES(1,'acme/site/docs/section/guides','title','"Guides"','"Guides"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/share-link/partners','name','"Partners"','"Partners"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/site-space/api','section','"sitesc_69d00bfbe782"','"sitesc_69d00bfbe782"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/site-space/api','space','"spc_5bc8f68932ac"','"spc_5bc8f68932ac"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/site-space/guides','section','"sitesc_ec0c4baed8ee"','"sitesc_ec0c4baed8ee"');
INSERT INTO "fields" VALUES(1,'acme/site/docs/site-space/guides','space','"spc_76cf3c663177"','"spc_76cf3c663177"');
INSERT INTO "fields" VALUES(1,'acme/space/api','parent','"col_49900d30097e"','"col_49900d30097e"');
INSERT INTO "fields" VALUES(1,'acme/space/api','title','"API reference"','"API reference"');
INSERT INTO "fields" VALUES(1,'acme/space/blank','parent','null','null');
INSERT INTO "fields" VALUES(1,'acme/space/blank','template','true',NULL);
INSERT INTO "fields" VALUES(1,'acme/space/blank','title','"Blank"','"Blank"');
INSERT INTO "fields" VALUES(1,'acme/space/guides','parent','"col_49900d30097e"','"col_49900d30097e"');
INSERT INTO "fields" VALUES(1,'acme/space/guides','title','"User guides"','"User guides"');
INSERT INTO "fields" VALUES(1,'acme/team/authors','members','["usr_ada"]',NULL);
INSERT INTO "fields" VALUES(1,'acme/team/authors','title','"Authors"','"Authors"');
INSERT INTO "fields" VALUES(1,'acme/team/reviewers','title','"Reviewers"','"Reviewers"');
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
INSERT INTO "journal" VALUES(1,1,'2026-11-25T06:59:30.316908+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',1,'acme/agent-instructions','agent-instructions','create','PUT','/orgs/org_acme/agent-instructions',NULL,'{"instructions":{"data":{"schemaVersion":1},"nodes":[{"nodes":[{"leaves":[{"marks":[],"object":"leaf","text":"Answer in plain English."}],"object":"text"}],"object":"block","type":"paragraph"}],"object":"document"}}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.151941+00:00','{}','["/orgs/org_acme/agent-instructions"]');
INSERT INTO "journal" VALUES(1,2,'2026-11-25T06:59:30.320920+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',2,'acme/collection/product','collection','create','POST','/orgs/org_acme/collections',NULL,'{"parent":null,"title":"Acme product"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.158033+00:00','{}','["/orgs/org_acme/collections"]');
INSERT INTO "journal" VALUES(1,3,'2026-11-25T06:59:30.322377+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',4,'acme/openapi/payments','openapi','create','PUT','/orgs/org_acme/openapi/payments',NULL,'{"slug":"payments","source":{"url":"https://example.com/payments.json"}}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.159602+00:00','{}','["/orgs/org_acme/openapi"]');
INSERT INTO "journal" VALUES(1,4,'2026-11-25T06:59:30.323583+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',5,'acme/saml/okta','saml','create','POST','/orgs/org_acme/saml',NULL,'{"certificate":"-----BEGIN CERTIFICATE-----\nMIIDTTCCAjWgAwIBAgIUEsTvZATQmmT/08Oft0vwANcsWJYwDQYJKoZIhvcNAQEL\nBQAwNTEXMBUGA1UECgwOQWNtZSAoZXhhbXBsZSkxGjAYBgNVBAMMEWFjbWUub2t0\nYS5leGFtcGxlMCAXDTI2MTEyMTA2Mjc1MFoYDzIxMjYxMDI4MDYyNzUwWjA1MRcw\nFQYDVQQKDA5BY21lIChleGFtcGxlKTEaMBgGA1UEAwwRYWNtZS5va3RhLmV4YW1w\nbGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDAQizpa/aFoC+DBTCO\nMEkeQ+cNVb2EOHCLV6mBb7mHSyI+JWfQVqK7wDePhdy1xIcR/Pb37uPUJL+CN8yf\nGNHFjYyiSua+AC2VpIfMuRv5C3EbbEbUXHrwzP38af/R2ajrpO4fk0yO4XYSap1e\nKAlgsGbbdFI/vnAg5GRKopGdQRkoIPRDwelDO7zbyB1WBk6CjJkLCLhzR5pZjTQu\nhbmrjjR3P31f769vO4XT0U+tnGISvI/p1id5sruAqSZvAzcypu9VoCuUNU3HOHiT\nH35b2GXVLFD/n9dt51Gm7s0bexSE5vC16XTbWrPODvZx9OT5l87258nGEWfX3dnW\neNnHAgMBAAGjUzBRMB0GA1UdDgQWBBQ+8oZU0K4Mudt4Deyq/bipls6m5TAfBgNV\nHSMEGDAWgBQ+8oZU0K4Mudt4Deyq/bipls6m5TAPBgNVHRMBAf8EBTADAQH/MA0G\nCSqGSIb3DQEBCwUAA4IBAQAW8gf6T4tMHlZIvE/lGZ1cerB5BRBaVkMFNEYVZ3qs\nykoM4ryE3kgbVWWhWa0HSwwg/p+gwaZA6+09BgAiBt7mJmiyYI7m+xVieRSQyMog\n44y8KYjDsGBvmu3cFpM7uEgvxlcphCDkh1c1B8bBoA8JNg8ff2IOC/6gMxZmQ2sR\nMOAM3HVPbEZlkS5EeTvwEWyH6WXCLsJ7cniWqFfX7t2oV5EGd0+w8+Hn581+SdL4\noGPyHeWaGnb+HTlwTmwGE1K6CB54Fzv0hPDtwDtPMYnKYi5msUiMP2nZSJyBdlx6\nfnRvDL0EYiyHxd1m2AJpPrmnTLzLcBazk0ZB1gazflDG\n-----END CERTIFICATE-----\n","entityID":"https://okta.example/1","label":"Okta","ssoURL":"https://okta.example/sso"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.160836+00:00','{}','["/orgs/org_acme/saml"]');
INSERT INTO "journal" VALUES(1,5,'2026-11-25T06:59:30.324831+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',6,'acme/team/writers','team','create','PUT','/orgs/org_acme/teams',NULL,'{"members":["usr_ada"],"title":"Writers"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.162028+00:00','{}','["/orgs/org_acme/teams"]');
INSERT INTO "journal" VALUES(1,6,'2026-11-25T06:59:30.325975+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',12,'acme/site/docs','site','create','POST','/orgs/org_acme/sites',NULL,'{"title":"Documentation","visibility":"share-link"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.163229+00:00','{}','["/orgs/org_acme/sites"]');
INSERT INTO "journal" VALUES(1,7,'2026-11-25T06:59:30.330166+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',3,'acme/space/guides','space','create','POST','/spaces/spc_blank/duplicate','spc_blank','{}','79c6311c8a7d57803edba5d56a6b05dde5c28f4db8f4744bef4938b6ef46888b','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.000196+00:00','{}','["/orgs/org_acme/members/usr_ada/spaces"]');
INSERT INTO "journal" VALUES(1,8,'2026-11-25T06:59:30.334871+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',9,'acme/space/api','space','create','POST','/spaces/spc_blank/duplicate','spc_blank','{}','79c6311c8a7d57803edba5d56a6b05dde5c28f4db8f4744bef4938b6ef46888b','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.006390+00:00','{}','["/orgs/org_acme/members/usr_ada/spaces"]');
INSERT INTO "journal" VALUES(1,9,'2026-11-25T06:59:30.368510+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',7,'acme/space/guides','space','update','PATCH','/spaces/spc_76cf3c663177','spc_76cf3c663177','{"title":"Guides"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.001589+00:00','{}','["/spaces/spc_76cf3c663177"]');
INSERT INTO "journal" VALUES(1,10,'2026-11-25T06:59:30.369910+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',8,'acme/space/guides','space','move','POST','/spaces/spc_76cf3c663177/move','spc_76cf3c663177','{"parent":"col_49900d30097e"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.002992+00:00','{}','["/spaces/spc_76cf3c663177"]');
INSERT INTO "journal" VALUES(1,11,'2026-11-25T06:59:30.371299+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',13,'acme/site/docs/adaptive-schema','adaptive-schema','create','PUT','/orgs/org_acme/sites/site_1da62357fdd3/adaptive-schema',NULL,'{"jsonSchema":{"additionalProperties":false,"properties":{"isCustomer":{"description":"Has a contract","type":"boolean"}},"type":"object"}}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.004386+00:00','{}','["/orgs/org_acme/sites/site_1da62357fdd3/adaptive-schema"]');
INSERT INTO "journal" VALUES(1,12,'2026-11-25T06:59:30.372648+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',16,'acme/site/docs/share-link/partners','share-link','create','POST','/orgs/org_acme/sites/site_1da62357fdd3/share-links',NULL,'{"name":"Partners"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.005736+00:00','{}','["/orgs/org_acme/sites/site_1da62357fdd3/share-links"]');
INSERT INTO "journal" VALUES(1,13,'2026-11-25T06:59:30.374857+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',10,'acme/space/api','space','update','PATCH','/spaces/spc_5bc8f68932ac','spc_5bc8f68932ac','{"title":"API reference"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.007876+00:00','{}','["/spaces/spc_5bc8f68932ac"]');
INSERT INTO "journal" VALUES(1,14,'2026-11-25T06:59:30.390356+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',14,'acme/site/docs/section/guides','section','create','POST','/orgs/org_acme/sites/site_1da62357fdd3/sections',NULL,'{"spaceId":"spc_76cf3c663177","title":"Guides"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.008023+00:00','{"siteSpaces":"acme/site/docs/site-space/guides"}','["/orgs/org_acme/sites/site_1da62357fdd3/sections"]');
INSERT INTO "journal" VALUES(1,15,'2026-11-25T06:59:30.394208+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',11,'acme/space/api','space','move','POST','/spaces/spc_5bc8f68932ac/move','spc_5bc8f68932ac','{"parent":"col_49900d30097e"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.012033+00:00','{}','["/spaces/spc_5bc8f68932ac"]');
INSERT INTO "journal" VALUES(1,16,'2026-11-25T06:59:30.413760+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',15,'acme/site/docs/group/reference','group','create','POST','/orgs/org_acme/sites/site_1da62357fdd3/section-groups',NULL,'{"title":"Reference"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.003878+00:00','{}','["/orgs/org_acme/sites/site_1da62357fdd3/section-groups"]');
INSERT INTO "journal" VALUES(1,17,'2026-11-25T06:59:30.415603+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',17,'acme/site/docs/section/api','section','create','POST','/orgs/org_acme/sites/site_1da62357fdd3/sections',NULL,'{"spaceId":"spc_5bc8f68932ac","title":"API"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.005848+00:00','{"siteSpaces":"acme/site/docs/site-space/api"}','["/orgs/org_acme/sites/site_1da62357fdd3/sections"]');
INSERT INTO "journal" VALUES(1,18,'2026-11-25T06:59:30.429645+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',18,'acme/site/docs/section/api','section','update','PATCH','/orgs/org_acme/sites/site_1da62357fdd3/sections/sitesc_69d00bfbe782','sitesc_69d00bfbe782','{"condition":"visitor.claims.isCustomer"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.002163+00:00','{}','["/orgs/org_acme/sites/site_1da62357fdd3/sections"]');
INSERT INTO "journal" VALUES(1,19,'2026-11-25T06:59:30.431172+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8',19,'acme/site/docs/section/api','section','join','POST','/orgs/org_acme/sites/site_1da62357fdd3/section-groups/sitesg_54525e122c87/sections','sitesc_69d00bfbe782','{"sectionGroup":"sitesg_54525e122c87"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:30+00:00','2026-11-25T07:00:01.003703+00:00','{}','["/orgs/org_acme/sites/site_1da62357fdd3/sections"]');
INSERT INTO "journal" VALUES(1,20,'2026-11-25T06:59:34.649226+00:00','6a9df3e2-6a7d-42aa-9009-9c694c6f5d03',1,'acme/space/guides','space','update','PATCH','/spaces/spc_76cf3c663177','spc_76cf3c663177','{"title":"User guides"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:34+00:00','2026-11-25T07:00:05.038160+00:00','{}','["/spaces/spc_76cf3c663177"]');
INSERT INTO "journal" VALUES(1,21,'2026-11-25T06:59:34.651962+00:00','6a9df3e2-6a7d-42aa-9009-9c694c6f5d03',2,'acme/team/authors','team','update','PATCH','/orgs/org_acme/teams/team_b54e24d57a28','team_b54e24d57a28','{"title":"Authors"}','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','2026-11-25T06:59:34+00:00','2026-11-25T07:00:05.041742+00:00','{}','["/orgs/org_acme/teams/team_b54e24d57a28"]');
INSERT INTO "journal" VALUES(1,22,'2026-11-25T06:59:37.723283+00:00','eb21026e-1157-45e8-95fd-40b732f25a09',1,'acme/team/reviewers','team','create','PUT','/orgs/org_acme/teams',NULL,'{"title":"Reviewers"}','22658c307d1d9091e29061073ac1d9eb96ce405b4669042cb450c3a4a005fa13','2026-11-25T06:59:37+00:00','2026-11-25T07:00:08.026481+00:00','{}','["/orgs/org_acme/teams"]');
INSERT INTO "journal" VALUES(1,23,'2026-11-25T07:00:02.266672+00:00','e699aaec-e898-46c9-b876-5027366ca346',1,'acme/team/translators','team','create','PUT','/orgs/org_acme/teams',NULL,'{"title":"Translators"}','b6da2e2274fd4ad1c6d5afefd80f452e523477a89d4ab75290c6530b38f1125a','2026-11-25T07:00:02+00:00','2026-11-25T07:00:33.056487+00:00','{}','["/orgs/org_acme/teams"]');
CREATE TABLE known (
	state INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	ids TEXT NOT NULL, 
	PRIMARY KEY (state, digest), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "known" VALUES(1,'4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','[]');
INSERT INTO "known" VALUES(1,'79c6311c8a7d57803edba5d56a6b05dde5c28f4db8f4744bef4938b6ef46888b','["spc_blank"]');
INSERT INTO "known" VALUES(1,'22658c307d1d9091e29061073ac1d9eb96ce405b4669042cb450c3a4a005fa13','["team_b54e24d57a28"]');
INSERT INTO "known" VALUES(1,'b6da2e2274fd4ad1c6d5afefd80f452e523477a89d4ab75290c6530b38f1125a','["team_6361830d1216","team_b54e24d57a28"]');
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
INSERT INTO "leases" VALUES(1,4,'e699aaec-e898-46c9-b876-5027366ca346','ada@desk','apply','2026-11-25T07:00:01.717974+00:00',NULL);
CREATE TABLE open_intents (
	state INTEGER NOT NULL, 
	intent INTEGER NOT NULL, 
	PRIMARY KEY (state, intent), 
	FOREIGN KEY(state, intent) REFERENCES journal (state, id)
);
INSERT INTO "open_intents" VALUES(1,23);
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
INSERT INTO "outcomes" VALUES(1,1,1,'2026-11-25T06:59:30.339286+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/agent-instructions":"org_acme/agent-instructions"}','[]');
INSERT INTO "outcomes" VALUES(2,1,2,'2026-11-25T06:59:30.344538+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/collection/product":"col_49900d30097e"}','[]');
INSERT INTO "outcomes" VALUES(3,1,3,'2026-11-25T06:59:30.348710+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/openapi/payments":"spec_78e8f0da9391"}','[]');
INSERT INTO "outcomes" VALUES(4,1,4,'2026-11-25T06:59:30.351911+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/saml/okta":"saml_4c7ff6640a41"}','[]');
INSERT INTO "outcomes" VALUES(5,1,5,'2026-11-25T06:59:30.356237+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/team/writers":"team_b54e24d57a28"}','[]');
INSERT INTO "outcomes" VALUES(6,1,6,'2026-11-25T06:59:30.362814+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs":"site_1da62357fdd3"}','[]');
INSERT INTO "outcomes" VALUES(7,1,7,'2026-11-25T06:59:30.365365+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/space/guides":"spc_76cf3c663177"}','[]');
INSERT INTO "outcomes" VALUES(8,1,8,'2026-11-25T06:59:30.367162+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/space/api":"spc_5bc8f68932ac"}','[]');
INSERT INTO "outcomes" VALUES(9,1,9,'2026-11-25T06:59:30.379369+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/space/guides":"spc_76cf3c663177"}','[]');
INSERT INTO "outcomes" VALUES(10,1,10,'2026-11-25T06:59:30.382402+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/space/guides":"spc_76cf3c663177"}','[]');
INSERT INTO "outcomes" VALUES(11,1,11,'2026-11-25T06:59:30.396589+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/adaptive-schema":"site_1da62357fdd3/adaptive-schema"}','[]');
INSERT INTO "outcomes" VALUES(12,1,12,'2026-11-25T06:59:30.400652+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/share-link/partners":"link_5911dbcbf837"}','[]');
INSERT INTO "outcomes" VALUES(13,1,13,'2026-11-25T06:59:30.404299+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/space/api":"spc_5bc8f68932ac"}','[]');
INSERT INTO "outcomes" VALUES(14,1,14,'2026-11-25T06:59:30.410316+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/section/guides":"sitesc_ec0c4baed8ee","acme/site/docs/site-space/guides":"sitesp_4937e9d345a8"}','[]');
INSERT INTO "outcomes" VALUES(15,1,15,'2026-11-25T06:59:30.417975+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/space/api":"spc_5bc8f68932ac"}','[]');
INSERT INTO "outcomes" VALUES(16,1,16,'2026-11-25T06:59:30.423742+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/group/reference":"sitesg_54525e122c87"}','[]');
INSERT INTO "outcomes" VALUES(17,1,17,'2026-11-25T06:59:30.427907+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/section/api":"sitesc_69d00bfbe782","acme/site/docs/site-space/api":"sitesp_7dca91b733cb"}','[]');
INSERT INTO "outcomes" VALUES(18,1,18,'2026-11-25T06:59:30.436618+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/section/api":"sitesc_69d00bfbe782"}','[]');
INSERT INTO "outcomes" VALUES(19,1,19,'2026-11-25T06:59:30.441636+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','done',NULL,'{"acme/site/docs/section/api":"sitesc_69d00bfbe782"}','[]');
INSERT INTO "outcomes" VALUES(20,1,20,'2026-11-25T06:59:34.658728+00:00','6a9df3e2-6a7d-42aa-9009-9c694c6f5d03','done',NULL,'{"acme/space/guides":"spc_76cf3c663177"}','[]');
INSERT INTO "outcomes" VALUES(21,1,21,'2026-11-25T06:59:34.663298+00:00','6a9df3e2-6a7d-42aa-9009-9c694c6f5d03','done',NULL,'{"acme/team/authors":"team_b54e24d57a28"}','[]');
INSERT INTO "outcomes" VALUES(22,1,22,'2026-11-25T06:59:37.728535+00:00','eb21026e-1157-45e8-95fd-40b732f25a09','done',NULL,'{"acme/team/reviewers":"team_6361830d1216"}','[]');
CREATE TABLE reconciler_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "reconciler_schema" VALUES(8);
CREATE TABLE renames (
	state INTEGER NOT NULL, 
	old TEXT NOT NULL, 
	new TEXT NOT NULL, 
	PRIMARY KEY (state, old), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "renames" VALUES(1,'acme/team/writers','acme/team/authors');
CREATE TABLE rules (
	state INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (state), 
	FOREIGN KEY(state) REFERENCES states (id)
);
INSERT INTO "rules" VALUES(1,'{"guards":{"max_delete_at_least":3,"max_delete_percent":30.0,"min_admins":1},"protect":["collection","saml","site","space"],"prune":{"adaptive-schema":"owned","agent-instructions":"owned","collection":"owned","group":"owned","member":"none","openapi":"owned","organization":"owned","saml":"owned","section":"owned","share-link":"owned","site":"owned","site-space":"owned","space":"owned","team":"all"}}');
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
INSERT INTO "runs" VALUES('86c6044e-3050-4c9e-8d21-d9de9d23bce8',1,'ada@desk','apply','2026-11-25T06:59:29.780840+00:00','2026-11-25T06:59:30.495079+00:00',0,'{"done":19,"failed":0,"in-doubt":0,"skipped":0,"stale":0}');
INSERT INTO "runs" VALUES('6a9df3e2-6a7d-42aa-9009-9c694c6f5d03',1,'ada@desk','apply','2026-11-25T06:59:34.210005+00:00','2026-11-25T06:59:34.697430+00:00',0,'{"done":2,"failed":0,"in-doubt":0,"skipped":0,"stale":0}');
INSERT INTO "runs" VALUES('eb21026e-1157-45e8-95fd-40b732f25a09',1,'ada@desk','apply','2026-11-25T06:59:37.347600+00:00','2026-11-25T06:59:37.761819+00:00',0,'{"done":1,"failed":0,"in-doubt":0,"skipped":0,"stale":0}');
INSERT INTO "runs" VALUES('e699aaec-e898-46c9-b876-5027366ca346',1,'ada@desk','apply','2026-11-25T07:00:01.717974+00:00','2026-11-25T07:00:02.306257+00:00',5,'{"done":0,"failed":0,"in-doubt":1,"skipped":0,"stale":0}');
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
INSERT INTO "states" VALUES(1,'handbook','','sandbox:341facff457f7d356ecf13f84014ae3a','8d905246-ac4a-42a6-9319-2bef89f6deea',4,'e699aaec-e898-46c9-b876-5027366ca346',X'47805848DD617CF870E9B67953A74BFD8D19826A70D5A426C7BAA64F2928B6DB');
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
INSERT INTO "turns" VALUES(1,1,'2026-11-25T06:59:30.218067+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','adopt','acme','organization','org_acme',NULL);
INSERT INTO "turns" VALUES(1,2,'2026-11-25T06:59:30.218067+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','adopt','acme/member/ada@acme.example','member','org_acme/usr_ada',NULL);
INSERT INTO "turns" VALUES(1,3,'2026-11-25T06:59:30.218067+00:00','86c6044e-3050-4c9e-8d21-d9de9d23bce8','adopt','acme/space/blank','space','spc_blank',NULL);
INSERT INTO "turns" VALUES(1,4,'2026-11-25T06:59:34.641988+00:00','6a9df3e2-6a7d-42aa-9009-9c694c6f5d03','rename','acme/team/authors','team','team_b54e24d57a28','acme/team/writers');
CREATE INDEX runs_by_state ON runs (state, started);
CREATE INDEX journal_by_run ON journal (run);
CREATE INDEX turns_by_run ON turns (run);
CREATE INDEX outcomes_by_intent ON outcomes (state, intent);
COMMIT;
