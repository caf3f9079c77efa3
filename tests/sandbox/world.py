"""A sandbox with one of everything, made once and copied for each test that wants to break one."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

from tests.sandbox.box import SEED, Box


class World:
    """A box with one of everything; random parts of paths and bodies are often ids that exist."""

    def __init__(self, root: Path) -> None:
        spaces = [
            space | {"files": [{"id": "fil_1", "name": "logo.png"}]} if space["id"] == "spc_one" else space for space in SEED["spaces"]
        ]
        self.box = Box(root, SEED | {"spaces": spaces, "openapi": [{"organization": "org_a", "id": "spec_a", "slug": "api"}]})
        site = self.box.site("spc_one", "spc_two")
        section = self.box.section(site, "Guides")
        group = self.box.post(f"{site}/section-groups", {"title": "Group", "sections": [section]})["id"]
        link = self.box.post(f"{site}/share-links", {"name": "Link"})["id"]
        team = self.box.put("/orgs/org_a/teams", {"title": "Team", "members": ["usr_rita"]}, status=201)["id"]
        saml = self.box.post(
            "/orgs/org_a/saml", {"label": "x", "entityID": "e", "certificate": "", "ssoURL": "https://idp.example/in", "defaultTeam": team}
        )["id"]
        request = self.box.post("/spaces/spc_one/change-requests", {"subject": "Better words"})["id"]
        at = f"/spaces/spc_one/change-requests/{request}"
        comment = self.box.post(f"{at}/comments", {"body": {"markdown": "Why?"}}, status=200)["id"]
        reply = self.box.post(f"{at}/comments/{comment}/replies", {"body": {"markdown": "Because."}}, status=200)["id"]
        self.box.post("/integrations/words", {"organization": "org_a", "title": "Words", "blocks": [{"id": "block"}]}, status=200)
        self.box.post("/integrations/words/installations", {"organization": "org_a"})
        translation = self.box.post("/orgs/org_a/translations", {"source": {"space": "spc_two"}, "language": "fr"})["id"]
        told = {"id": "con_1", "subject": "It is slow", "parts": [{"type": "message", "role": "user", "body": "Why?"}]}
        self.box.send("POST", "/orgs/org_a/conversations", told)
        variant = self.box.ids(f"{site}/site-spaces")[-1]
        self.known = {
            "organizationId": "org_a",
            "collectionId": "col_inner",
            "spaceId": "spc_one",
            "userId": "usr_rita",
            "teamId": team,
            "siteId": site.rsplit("/", 1)[1],
            "siteSectionId": section,
            "siteSectionGroupId": group,
            "siteSpaceId": variant,
            "shareLinkId": link,
            "specSlug": "api",
            "samlProviderId": saml,
            "inviteId": "inv_1",
            "emailDomain": "acme.example",
            "changeRequestId": request,
            "commentId": comment,
            "commentReplyId": reply,
            "pageId": self.box.get(f"{at}/content/pages")["pages"][0]["id"],
            "fileId": "fil_1",
            "integrationName": "words",
            "eventId": self.box.ids("/integrations/words/events")[0],
            "translationId": translation,
            "conversationId": "con_1",
            "issueId": self.box.items("/orgs/org_a/conversations-issues")[0]["issue"]["id"],
        }
        self.box.close()
        self.ids = [*self.known.values(), "col_guides", "spc_two", "spc_root", "spc_bolt", "org_b"]

    def copied(self, folder: Path) -> World:
        """The same on a file of its own, open; close its box."""
        made = copy.copy(self)
        made.box = copy.copy(self.box)
        made.box.db = folder / "sandbox.db"
        shutil.copy(self.box.db, made.box.db)
        made.box.open()
        return made
