"""Who reads what: edits that open, close or publish more than was meant, and rules of the project that become looser."""

from __future__ import annotations

from tests.mistakes.mistake import PARTLY, REFUSED, WRONG, Run, append, apply, both, edit, mistake

ROWS = (
    mistake(
        "a site that is opened by one word waits for consent",
        edit("sites/intra.yaml", "visibility: share-link", "visibility: public"),
        apply(REFUSED, "--allow-exposure acme/site/intra"),
    ),
    mistake(
        "a collection whose members may all edit waits for consent",
        edit("content.yaml", "title: Internal\n", "title: Internal\n    defaultLevel: edit\n"),
        apply(REFUSED, "--allow-exposure"),
    ),
    mistake(
        "a share link that is turned on again waits for consent",
        edit("sites/intra.yaml", "name: Press, active: false", "name: Press, active: true"),
        apply(REFUSED, "--allow-exposure acme/site/intra/share-link/press"),
    ),
    mistake(
        "a share link whose active is left out stays as it is",
        edit("sites/intra.yaml", "name: Press, active: false", "name: Press"),
        apply(0, "no longer managed"),
    ),
    mistake(
        "a share link that is turned off is turned off at once",
        edit("sites/intra.yaml", "name: Board, active: true", "name: Board, active: false"),
        apply(),
    ),
    mistake(
        "what is published cannot be undone, and says so",
        edit("sites/docs.yaml", "published: true", "published: false"),
        apply(REFUSED, "published: true"),
    ),
    mistake(
        "a visibility with a typo is an error that says which there are",
        edit("sites/docs.yaml", "visibility: public", "visibility: pubic"),
        apply(WRONG, "sites/docs.yaml:4", 'did you mean "public"'),
    ),
    mistake(
        "a visibility that is left out stays as it is",
        edit("sites/intra.yaml", "    visibility: share-link\n", ""),
        apply(0, "no longer managed"),
    ),
    mistake(
        "a condition that is left out stays as it is",
        edit("sites/docs.yaml", "        condition: visitor.claims.staff\n", ""),
        apply(0, "no longer managed"),
    ),
    mistake(
        "a condition that is cleared waits for consent",
        edit("sites/docs.yaml", "condition: visitor.claims.staff", "condition: null"),
        apply(REFUSED, "--allow-exposure acme/site/docs/section/staff"),
    ),
    mistake(
        "conditions that are switched off with adaptiveContent wait for consent",
        edit("sites/docs.yaml", "{enabled: true}", "{enabled: false}"),
        apply(REFUSED, "--allow-exposure", "handbook"),
    ),
    mistake(
        "a site that is closed is closed without a question",
        edit("sites/docs.yaml", "visibility: public", "visibility: visitor-auth"),
        apply(),
    ),
    mistake(
        "prune: all for a kind waits for consent, and spares what nobody declared until then",
        append("reconciler.yaml", "prune: {team: all}\n"),
        apply(REFUSED, "--allow-exposure prune", "Legal"),
    ),
    mistake(
        "prune: all for everything is an error, and prunes nothing",
        append("reconciler.yaml", "prune: all\n"),
        apply(WRONG, "reconciler.yaml:17", "prune"),
    ),
    mistake(
        "no protection at all waits for consent", append("reconciler.yaml", "protect: []\n"), apply(REFUSED, "--allow-exposure protect")
    ),
    mistake(
        "a space whose line goes together with all protection is still protected",
        both(
            append("reconciler.yaml", "protect: []\n"),
            edit("content.yaml", "      - {space: changelog, title: Changelog}\n", ""),
            edit("sites/docs.yaml", ", changelog", ""),
        ),
        apply(PARTLY, "acme/space/changelog", options="--target acme/space/* --allow-exposure **"),
    ),
    mistake(
        "a limit that limits nothing waits for consent",
        append("reconciler.yaml", "guards: {maxDelete: {percent: 100}}\n"),
        apply(REFUSED, "--allow-exposure guards"),
    ),
    mistake(
        "a role in capitals is an error that says how it is spelled",
        edit("people.yaml", "{role: edit}", "{role: Edit}"),
        apply(WRONG, "people.yaml:4", 'did you mean "edit"'),
    ),
    mistake(
        "one more admin waits for consent",
        edit("people.yaml", "{role: edit}", "admin"),
        apply(REFUSED, "--allow-exposure acme/member/linus@acme.example"),
    ),
    mistake(
        "consent to something else is none",
        edit("people.yaml", "{role: edit}", "admin"),
        apply(REFUSED, "--allow-exposure acme/member/linus@acme.example", options="--allow-exposure acme/member/linus"),
    ),
    mistake(
        "a person whose line goes keeps the role",
        edit("people.yaml", "  linus@acme.example: {role: edit}\n", "", "    members: [linus@acme.example]\n", ""),
        apply(0, "acme/member/linus@acme.example"),
    ),
    mistake(
        "whoever runs it cannot lock themselves out",
        edit("people.yaml", "  ada@acme.example: admin", "  ada@acme.example: read"),
        apply(REFUSED, "acme/member/ada@acme.example", "service.member"),
    ),
    mistake(
        "all admins together cannot lose their role",
        edit("people.yaml", "grace@acme.example: admin", "grace@acme.example: edit", "ada@acme.example: admin", "ada@acme.example: edit"),
        apply(REFUSED, "guards.minAdmins", options="--allow-exposure **"),
    ),
    mistake(
        "a domain of everybody's mail waits for consent",
        edit("reconciler.yaml", "[acme.example]", "[acme.example, gmail.com]"),
        apply(REFUSED, "--allow-exposure acme", "gmail.com"),
    ),
    mistake(
        "yes is no way to say true",
        edit("reconciler.yaml", "inviteLinks: false", "inviteLinks: yes"),
        apply(WRONG, "reconciler.yaml:16", "true"),
    ),
    mistake(
        "a pipeline that applies a plan of before does nothing that the files opened since",
        edit("sites/docs.yaml", "spaces: [api]", "spaces: [api, salaries]"),
        Run("apply --plan plan.json", 0, ("acme/site/docs/site-space/salaries",)),
        scene=lambda folder: (folder.edit("content.yaml", "title: Guides", "title: Manuals"), folder("plan", "--out", "plan.json")),
        becomes={"space Guides": "space Manuals"},
    ),
    mistake(
        "a limit that is no map is an error",
        append("reconciler.yaml", "guards: {maxDelete: 100}\n"),
        apply(WRONG, "reconciler.yaml:17", "percent"),
    ),
    mistake(
        "a list that is no list is an error",
        edit("reconciler.yaml", "emailDomains: [acme.example]", "emailDomains: acme.example"),
        apply(WRONG, "reconciler.yaml:15", "[acme.example]"),
    ),
    mistake(
        "the secret space in place of the public one waits for consent",
        edit("sites/docs.yaml", "spaces: [api]", "spaces: [{key: api, space: salaries}]"),
        apply(REFUSED, "--allow-exposure", "salaries"),
    ),
    mistake(
        "one more space on the public site waits for consent",
        edit("sites/docs.yaml", "spaces: [api]", "spaces: [api, salaries]"),
        apply(REFUSED, "--allow-exposure", "salaries"),
    ),
    mistake(
        "a new public site that shows what was secret waits for consent",
        lambda folder: folder.write(
            "sites/jobs.yaml", "sites:\n  jobs:\n    title: Jobs\n    visibility: public\n    published: true\n    structure: [salaries]\n"
        ),
        apply(REFUSED, "--allow-exposure", "salaries"),
    ),
    mistake(
        "a space that is moved to a collection with more rights waits for consent",
        edit(
            "content.yaml",
            "      - {space: salaries, title: Salaries}\n",
            "",
            "title: Changelog}\n",
            "title: Changelog}\n      - {space: salaries, title: Salaries}\n",
        ),
        apply(REFUSED, "--allow-exposure", "salaries"),
        scene=lambda folder: (
            folder.edit("content.yaml", "title: Product\n", "title: Product\n    defaultLevel: read\n"),
            folder.applied(),
        ),
    ),
    mistake(
        "a share link that does not say whether it is active is active, and waits for consent",
        edit("sites/intra.yaml", "    shareLinks:\n", "    shareLinks:\n      audit: {name: Audit}\n"),
        apply(REFUSED, "--allow-exposure acme/site/intra/share-link/audit"),
    ),
    mistake(
        "a condition with a typo waits for consent, since nobody can tell whom it lets in",
        edit("sites/docs.yaml", "visitor.claims.staff", "visitor.claims.stuff"),
        apply(REFUSED, "--allow-exposure acme/site/docs/section/staff"),
    ),
    mistake(
        "a share link that is made inactive opens nothing",
        edit("sites/intra.yaml", "    shareLinks:\n", "    shareLinks:\n      audit: {name: Audit, active: false}\n"),
        apply(),
        created=("share-link Audit",),
    ),
)
