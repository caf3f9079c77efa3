PRAGMA application_id = 1380142675;
PRAGMA user_version = 0;
BEGIN TRANSACTION;
CREATE TABLE fault_log (
  number integer primary key, at text not null, rule text not null, fault text not null, method text not null, path text not null
);
INSERT INTO "fault_log" VALUES(1,'2026-11-25T06:59:37.725Z','1:cut','cut','PUT','/v1/orgs/org_acme/teams');
INSERT INTO "fault_log" VALUES(2,'2026-11-25T07:00:02.269Z','1:cut','cut','PUT','/v1/orgs/org_acme/teams');
CREATE TABLE meta (key text primary key, value text not null);
INSERT INTO "meta" VALUES('identity','341facff457f7d356ecf13f84014ae3a');
INSERT INTO "meta" VALUES('seeded','2026-11-25T06:59:29.481Z');
CREATE TABLE objects (
  id text not null, kind text not null, organization text not null, container text not null, position real not null,
  data text not null, primary key (kind, id)
) without rowid;
INSERT INTO "objects" VALUES('org_acme','agent-instructions','org_acme','agent-instructions:org_acme',1024.0,'{"id":"org_acme","instructions":{"object":"document","data":{"schemaVersion":1},"nodes":[{"object":"block","type":"paragraph","nodes":[{"object":"text","leaves":[{"object":"leaf","text":"Answer in plain English.","marks":[]}]}]}]},"updatedAt":"2026-11-25T06:59:30.330Z","updatedBy":"usr_ada"}');
INSERT INTO "objects" VALUES('col_49900d30097e','collection','org_acme','root:org_acme',2048.0,'{"id":"col_49900d30097e","title":"Acme product","organization":"org_acme","defaultLevel":null}');
INSERT INTO "objects" VALUES('sitesg_54525e122c87','group','org_acme','structure:site_1da62357fdd3',2048.0,'{"id":"sitesg_54525e122c87","title":"Reference","organization":"org_acme","site":"site_1da62357fdd3"}');
INSERT INTO "objects" VALUES('org_acme:usr_ada','member','org_acme','members:org_acme',1024.0,'{"_pk":"org_acme:usr_ada","_organization":"org_acme","id":"usr_ada","email":"ada@acme.example","displayName":"Ada","role":"admin","joinedAt":"2026-11-25T06:59:29.481Z"}');
INSERT INTO "objects" VALUES('spec_78e8f0da9391','openapi','org_acme','openapi:org_acme',1024.0,'{"id":"spec_78e8f0da9391","slug":"payments","createdAt":"2026-11-25T06:59:30.341Z","visibility":"private","organization":"org_acme","sourceURL":"https://example.com/payments.json","updatedAt":"2026-11-25T06:59:30.341Z","_runs":1,"_started":1795589970.341906,"_outcome":"FETCH_ERROR"}');
INSERT INTO "objects" VALUES('org_acme','organization','org_acme','organizations',1024.0,'{"id":"org_acme","title":"acme","createdAt":"2026-11-25T06:59:29.481Z","emailDomains":[],"hostname":"org-acme","type":"business","useCase":"internalDocs","defaultRole":"read","sso":false,"ai":false,"inviteLinks":true,"plan":"free_2024","mergeRules":{"type":"inherit"}}');
INSERT INTO "objects" VALUES('saml_4c7ff6640a41','saml','org_acme','saml:org_acme',1024.0,'{"id":"saml_4c7ff6640a41","defaultRole":null,"label":"Okta","entityID":"https://okta.example/1","certificate":"-----BEGIN CERTIFICATE-----\nMIIDTTCCAjWgAwIBAgIUEsTvZATQmmT/08Oft0vwANcsWJYwDQYJKoZIhvcNAQEL\nBQAwNTEXMBUGA1UECgwOQWNtZSAoZXhhbXBsZSkxGjAYBgNVBAMMEWFjbWUub2t0\nYS5leGFtcGxlMCAXDTI2MTEyMTA2Mjc1MFoYDzIxMjYxMDI4MDYyNzUwWjA1MRcw\nFQYDVQQKDA5BY21lIChleGFtcGxlKTEaMBgGA1UEAwwRYWNtZS5va3RhLmV4YW1w\nbGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDAQizpa/aFoC+DBTCO\nMEkeQ+cNVb2EOHCLV6mBb7mHSyI+JWfQVqK7wDePhdy1xIcR/Pb37uPUJL+CN8yf\nGNHFjYyiSua+AC2VpIfMuRv5C3EbbEbUXHrwzP38af/R2ajrpO4fk0yO4XYSap1e\nKAlgsGbbdFI/vnAg5GRKopGdQRkoIPRDwelDO7zbyB1WBk6CjJkLCLhzR5pZjTQu\nhbmrjjR3P31f769vO4XT0U+tnGISvI/p1id5sruAqSZvAzcypu9VoCuUNU3HOHiT\nH35b2GXVLFD/n9dt51Gm7s0bexSE5vC16XTbWrPODvZx9OT5l87258nGEWfX3dnW\neNnHAgMBAAGjUzBRMB0GA1UdDgQWBBQ+8oZU0K4Mudt4Deyq/bipls6m5TAfBgNV\nHSMEGDAWgBQ+8oZU0K4Mudt4Deyq/bipls6m5TAPBgNVHRMBAf8EBTADAQH/MA0G\nCSqGSIb3DQEBCwUAA4IBAQAW8gf6T4tMHlZIvE/lGZ1cerB5BRBaVkMFNEYVZ3qs\nykoM4ryE3kgbVWWhWa0HSwwg/p+gwaZA6+09BgAiBt7mJmiyYI7m+xVieRSQyMog\n44y8KYjDsGBvmu3cFpM7uEgvxlcphCDkh1c1B8bBoA8JNg8ff2IOC/6gMxZmQ2sR\nMOAM3HVPbEZlkS5EeTvwEWyH6WXCLsJ7cniWqFfX7t2oV5EGd0+w8+Hn581+SdL4\noGPyHeWaGnb+HTlwTmwGE1K6CB54Fzv0hPDtwDtPMYnKYi5msUiMP2nZSJyBdlx6\nfnRvDL0EYiyHxd1m2AJpPrmnTLzLcBazk0ZB1gazflDG\n-----END CERTIFICATE-----\n","ssoURL":"https://okta.example/sso","createdAt":"2026-11-25T06:59:30.349Z","status":"active","organization":"org_acme"}');
INSERT INTO "objects" VALUES('sitesc_69d00bfbe782','section','org_acme','group:sitesg_54525e122c87',1024.0,'{"id":"sitesc_69d00bfbe782","title":"API","path":"api","default":false,"organization":"org_acme","site":"site_1da62357fdd3","condition":"visitor.claims.isCustomer","sectionGroup":"sitesg_54525e122c87"}');
INSERT INTO "objects" VALUES('sitesc_ec0c4baed8ee','section','org_acme','structure:site_1da62357fdd3',1024.0,'{"id":"sitesc_ec0c4baed8ee","title":"Guides","path":"guides","default":true,"organization":"org_acme","site":"site_1da62357fdd3"}');
INSERT INTO "objects" VALUES('link_5911dbcbf837','share-link','org_acme','links:site_1da62357fdd3',1024.0,'{"id":"link_5911dbcbf837","createdAt":"2026-11-25T06:59:30.398Z","name":"Partners","active":true,"organization":"org_acme","site":"site_1da62357fdd3","_secret":"Vxmf69GH2rccERFKmp1yI-3af-HdCYL7"}');
INSERT INTO "objects" VALUES('site_1da62357fdd3','site','org_acme','sites:org_acme',1024.0,'{"id":"site_1da62357fdd3","type":"basic","title":"Documentation","basename":"documentation","visibility":"share-link","published":false,"createdAt":"2026-11-25T06:59:30.358Z","adaptiveContent":{"enabled":false},"ads":{"status":"pending","submittable":false},"agentsContext":"excluded","features":[],"organization":"org_acme","_adaptiveSchema":{"jsonSchema":{"type":"object","properties":{"isCustomer":{"type":"boolean","description":"Has a contract"}},"additionalProperties":false},"updatedAt":"2026-11-25T06:59:30.391Z"}}');
INSERT INTO "objects" VALUES('sitesp_4937e9d345a8','site-space','org_acme','section:sitesc_ec0c4baed8ee',1024.0,'{"id":"sitesp_4937e9d345a8","path":"guides","default":true,"site":"site_1da62357fdd3","organization":"org_acme","_space":"spc_76cf3c663177","section":"sitesc_ec0c4baed8ee"}');
INSERT INTO "objects" VALUES('sitesp_7dca91b733cb','site-space','org_acme','section:sitesc_69d00bfbe782',1024.0,'{"id":"sitesp_7dca91b733cb","path":"api-reference","default":true,"site":"site_1da62357fdd3","organization":"org_acme","_space":"spc_5bc8f68932ac","section":"sitesc_69d00bfbe782"}');
INSERT INTO "objects" VALUES('spc_5bc8f68932ac','space','org_acme','collection:col_49900d30097e',2048.0,'{"id":"spc_5bc8f68932ac","title":"API reference","emoji":"","visibility":"in-collection","createdAt":"2026-11-25T06:59:30.361Z","updatedAt":"2026-11-25T06:59:30.412Z","editMode":"live","mergeRules":{"type":"inherit"},"organization":"org_acme","language":"en","revision":"rev_531666148573","defaultLevel":null,"comments":0,"changeRequests":0,"changeRequestsOpen":0,"changeRequestsDraft":0,"_pages":[{"id":"pag_e0e9c1c7fdef","title":"Page","slug":"page","path":"page","type":"document","pages":[]}],"parent":"col_49900d30097e"}');
INSERT INTO "objects" VALUES('spc_76cf3c663177','space','org_acme','collection:col_49900d30097e',1024.0,'{"id":"spc_76cf3c663177","title":"User guides","emoji":"","visibility":"in-collection","createdAt":"2026-11-25T06:59:30.359Z","updatedAt":"2026-11-25T06:59:34.654Z","editMode":"live","mergeRules":{"type":"inherit"},"organization":"org_acme","language":"en","revision":"rev_1a7a6a7c6491","defaultLevel":null,"comments":0,"changeRequests":0,"changeRequestsOpen":0,"changeRequestsDraft":0,"_pages":[{"id":"pag_467e534ae161","title":"Page","slug":"page","path":"page","type":"document","pages":[]}],"parent":"col_49900d30097e"}');
INSERT INTO "objects" VALUES('spc_blank','space','org_acme','root:org_acme',1024.0,'{"id":"spc_blank","title":"Do not touch","emoji":"","visibility":"private","createdAt":"2026-11-25T06:59:29.481Z","updatedAt":"2026-11-25T07:00:05.705Z","editMode":"live","mergeRules":{"type":"inherit"},"organization":"org_acme","language":"en","revision":"rev_09952dd11398","defaultLevel":null,"comments":0,"changeRequests":0,"changeRequestsOpen":0,"changeRequestsDraft":0,"_pages":[{"id":"pag_c756822951f9","title":"Page","slug":"page","path":"page","type":"document","pages":[]}]}');
INSERT INTO "objects" VALUES('team_6361830d1216','team','org_acme','teams:org_acme',2048.0,'{"id":"team_6361830d1216","title":"Reviewers","createdAt":"2026-11-25T06:59:37.726Z","organization":"org_acme","_members":[],"_owner":"usr_ada"}');
INSERT INTO "objects" VALUES('team_6b12d7a2eb20','team','org_acme','teams:org_acme',3072.0,'{"id":"team_6b12d7a2eb20","title":"Translators","createdAt":"2026-11-25T07:00:02.270Z","organization":"org_acme","_members":[],"_owner":"usr_ada"}');
INSERT INTO "objects" VALUES('team_b54e24d57a28','team','org_acme','teams:org_acme',1024.0,'{"id":"team_b54e24d57a28","title":"Authors","createdAt":"2026-11-25T06:59:30.354Z","organization":"org_acme","_members":["usr_ada"],"_owner":"usr_ada"}');
CREATE TABLE requests (
  id integer primary key, at text not null, method text not null, path text not null, status integer not null
);
INSERT INTO "requests" VALUES(1,'2026-11-25T06:59:30.330Z','PUT','/v1/orgs/org_acme/agent-instructions',200);
INSERT INTO "requests" VALUES(2,'2026-11-25T06:59:30.332Z','POST','/v1/orgs/org_acme/collections',201);
INSERT INTO "requests" VALUES(3,'2026-11-25T06:59:30.343Z','PUT','/v1/orgs/org_acme/openapi/payments',201);
INSERT INTO "requests" VALUES(4,'2026-11-25T06:59:30.350Z','POST','/v1/orgs/org_acme/saml',201);
INSERT INTO "requests" VALUES(5,'2026-11-25T06:59:30.354Z','PUT','/v1/orgs/org_acme/teams',201);
INSERT INTO "requests" VALUES(6,'2026-11-25T06:59:30.358Z','POST','/v1/orgs/org_acme/sites',201);
INSERT INTO "requests" VALUES(7,'2026-11-25T06:59:30.360Z','POST','/v1/spaces/spc_blank/duplicate',201);
INSERT INTO "requests" VALUES(8,'2026-11-25T06:59:30.363Z','POST','/v1/spaces/spc_blank/duplicate',201);
INSERT INTO "requests" VALUES(9,'2026-11-25T06:59:30.376Z','PATCH','/v1/spaces/spc_76cf3c663177',200);
INSERT INTO "requests" VALUES(10,'2026-11-25T06:59:30.380Z','POST','/v1/spaces/spc_76cf3c663177/move',200);
INSERT INTO "requests" VALUES(11,'2026-11-25T06:59:30.392Z','PUT','/v1/orgs/org_acme/sites/site_1da62357fdd3/adaptive-schema',200);
INSERT INTO "requests" VALUES(12,'2026-11-25T06:59:30.399Z','POST','/v1/orgs/org_acme/sites/site_1da62357fdd3/share-links',201);
INSERT INTO "requests" VALUES(13,'2026-11-25T06:59:30.402Z','PATCH','/v1/spaces/spc_5bc8f68932ac',200);
INSERT INTO "requests" VALUES(14,'2026-11-25T06:59:30.408Z','POST','/v1/orgs/org_acme/sites/site_1da62357fdd3/sections',201);
INSERT INTO "requests" VALUES(15,'2026-11-25T06:59:30.412Z','POST','/v1/spaces/spc_5bc8f68932ac/move',200);
INSERT INTO "requests" VALUES(16,'2026-11-25T06:59:30.422Z','POST','/v1/orgs/org_acme/sites/site_1da62357fdd3/section-groups',201);
INSERT INTO "requests" VALUES(17,'2026-11-25T06:59:30.426Z','POST','/v1/orgs/org_acme/sites/site_1da62357fdd3/sections',201);
INSERT INTO "requests" VALUES(18,'2026-11-25T06:59:30.435Z','PATCH','/v1/orgs/org_acme/sites/site_1da62357fdd3/sections/sitesc_69d00bfbe782',200);
INSERT INTO "requests" VALUES(19,'2026-11-25T06:59:30.440Z','POST','/v1/orgs/org_acme/sites/site_1da62357fdd3/section-groups/sitesg_54525e122c87/sections',201);
INSERT INTO "requests" VALUES(20,'2026-11-25T06:59:34.655Z','PATCH','/v1/spaces/spc_76cf3c663177',200);
INSERT INTO "requests" VALUES(21,'2026-11-25T06:59:34.656Z','PATCH','/v1/orgs/org_acme/teams/team_b54e24d57a28',200);
INSERT INTO "requests" VALUES(22,'2026-11-25T06:59:37.727Z','PUT','/v1/orgs/org_acme/teams',201);
INSERT INTO "requests" VALUES(23,'2026-11-25T06:59:40.067Z','PATCH','/v1/spaces/spc_blank',200);
INSERT INTO "requests" VALUES(24,'2026-11-25T06:59:58.900Z','PATCH','/v1/spaces/spc_blank',200);
INSERT INTO "requests" VALUES(25,'2026-11-25T07:00:05.706Z','PATCH','/v1/spaces/spc_blank',200);
CREATE TABLE tokens (token text primary key, member text not null, organization text not null, access text not null);
CREATE INDEX siblings on objects (kind, container, position);
CREATE INDEX level on objects (container, position);
CREATE INDEX owned on objects (organization, kind, position);
CREATE INDEX in_site on objects (json_extract(data, '$.site'), kind, position);
CREATE INDEX deleted on objects (id) where kind = 'space' and json_extract(data, '$.deletedAt') is not null;
COMMIT;
