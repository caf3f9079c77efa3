"""The JSON Schema of files: a project file, the files it includes, the file of an environment. Pure."""

from __future__ import annotations

from reconciler.config.resources.ignored_changes import ignorable
from reconciler.config.rules import lint_schema
from reconciler.config.schemas.forms import KEY, KEYS, Schema, chosen, either, map_of, or_expression, text
from reconciler.config.schemas.resources import Resources, ignored
from reconciler.config.schemas.rules import access, policies
from reconciler.config.source.split import INCLUDE
from reconciler.config.words import CREATE_STRATEGIES, IGNORE_CHANGES, REMOVED_ACTIONS, SECRETS, AccessSection, ServiceSection
from reconciler.resource import PRUNE_SCOPES, Kind

ENCRYPTED_NAME = r"^(?!.*\$\{\{).*\.(yaml|yml|json)$"
WHOLE = r"(?<!\$)\$\{\{(?!\s*\}\})[\s\S]*\}\}"  # an expression that ends and is not empty
INCLUDED = r"^(?!.*\$\{\{)(?![/~]|environments/|reconciler\.yaml$)(?!(?:.*/)?\.)(?!.*\.(?:enc|sops)\.ya?ml$).+$"
LITERAL: Schema = {"not": {"type": "string", "pattern": WHOLE}}
FILES_OF_SECRETS: Schema = {
    "description": "Files that SOPS encrypted; their values are secrets.NAME in expressions.",
    **either([{"type": "array", "items": {"type": "string", "pattern": ENCRYPTED_NAME}}, {"type": "string", "pattern": ENCRYPTED_NAME}]),
}


class FileSchemas:
    """The definitions of files: a project file, what it includes, an environment."""

    def __init__(self, resources: Resources) -> None:
        self.kinds, self.resources = resources.kinds, resources

    def project(self) -> Schema:
        names = {"enum": list(self.kinds)}
        seconds = {"type": "number", "exclusiveMinimum": 0}
        return map_of(
            {
                "version": {"description": "The version of this language.", "const": 1},
                "project": text("The name of the project; the state is stored under it."),
                ServiceSection.SECTION: {
                    "not": {"required": [ServiceSection.BASE_URL, ServiceSection.SANDBOX]},
                    **map_of(
                        {
                            ServiceSection.BASE_URL: text("The URL of the service; used after it is confirmed."),
                            ServiceSection.SANDBOX: text("The file of an embedded sandbox, instead of baseUrl."),
                            ServiceSection.MEMBER: text(
                                "The e-mail of the member who owns the token; must have access to everything and stay an admin."
                            ),
                            ServiceSection.TIMEOUT: or_expression(
                                {"description": "Seconds for one request, including retries.", **seconds}
                            ),
                        },
                        "The service that runs read and change.",
                    ),
                },
                "state": {
                    **text("The URL of the state, without a password: a file, a PostgreSQL server or a bucket."),
                    "not": {"type": "string", "pattern": "//[^/@]*:[^/@]*@"},
                },
                "recovery": map_of(
                    {
                        "settle": or_expression(
                            {
                                "description": "Seconds after which a request in doubt can no longer take effect.",
                                "type": "number",
                                "minimum": 0,
                            }
                        ),
                        "createStrategy": or_expression({"enum": list(CREATE_STRATEGIES)}),
                    }
                ),
                "include": {
                    "description": "More files, by name or pattern.",
                    "type": "array",
                    "items": {"type": "string", "pattern": INCLUDED},
                },
                SECRETS: FILES_OF_SECRETS,
                "vars": {
                    "description": "Values that expressions can use as vars.NAME.",
                    "type": "object",
                    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                    "additionalProperties": {"$ref": "#/$defs/variable"},
                },
                "prune": map_of(
                    {
                        name: {"description": f"Default: {kind.prune}.", **or_expression({"enum": list(PRUNE_SCOPES)})}
                        for name, kind in self.kinds.items()
                    },
                    "What happens to objects whose lines are removed, by kind.",
                ),
                "protect": {"description": "Kinds whose deletion requires consent.", "type": "array", "items": names},
                IGNORE_CHANGES: {
                    "description": "Fields that are left alone once an object exists, by kind or by a pattern of addresses.",
                    "type": "object",
                    "properties": {name: ignored(ignorable(kind)) for name, kind in self.kinds.items()},
                    "additionalProperties": ignored(name for kind in self.kinds.values() for name in ignorable(kind)),
                },
                "guards": map_of(
                    {
                        "maxDelete": map_of(
                            {
                                "percent": or_expression({"type": "number", "minimum": 0, "maximum": 100}),
                                "atLeast": or_expression({"type": "integer", "minimum": 0}),
                            },
                            "How much a run may delete without further consent: a share of the managed objects, but always this number.",
                        ),
                        "minAdmins": or_expression({"description": "The admins that no run removes.", "type": "integer", "minimum": 0}),
                        "maxExposed": or_expression(
                            {
                                "description": "The most objects that a run may expose to more readers. Absent: no limit.",
                                "type": "integer",
                                "minimum": 0,
                            }
                        ),
                    },
                    "Limits for one run.",
                ),
                AccessSection.SECTION: access(),
                "lint": lint_schema(),
                "defaults": map_of(
                    {name: map_of(self.resources.fields(kind)) for name, kind in self.kinds.items()},
                    "Values for fields that are not written.",
                ),
                **policies(self.kinds),
                **self._everywhere(),
            },
            required=("version", "project"),
            ignored=True,
        )

    def fragment(self) -> Schema:
        held: Schema = {}
        for root in self.kinds.roots:
            held[root.name] = {"description": f"The key of the {root.name} that this file belongs to.", **KEY}
            held |= self.resources.sections(root)
        everywhere = {AccessSection.SECTION: access(), **policies(self.kinds), **self._everywhere()}
        return {**map_of({**held, **everywhere}, ignored=True), "not": {"required": ["version"]}}

    def part(self) -> Schema:
        """A file included by one map or list: nodes, entries, or the map or list under its own key."""
        sections, nodes = self._all_sections()
        names = {section: self.resources.section(kind) for section, kind in sections.items()} | {
            section: {"anyOf": [{"$ref": f"#/$defs/{host}.{section}"} for host in hosts]} for section, hosts in nodes.items()
        }
        items = [{"$ref": f"#/$defs/{host}.{section}"} for section, hosts in nodes.items() for host in hosts]
        wrapped = {**map_of(names, ignored=True), "maxProperties": 1}
        entries = [{"$ref": f"#/$defs/{name}"} for name in dict.fromkeys(kind.name for kind in sections.values())]
        return {
            "description": "What a map or list includes: a list of nodes, a map of entries, or a map with the one key of the section.",
            "anyOf": [
                wrapped,
                {"type": "array", "anyOf": items},
                {
                    "type": "object",
                    "propertyNames": KEYS,
                    "additionalProperties": {"anyOf": entries},
                    "not": {"anyOf": [{"required": [word]} for word in ("version", "project")]},  # a project file
                },
            ],
        }

    def environment(self) -> Schema:
        """The file of an environment: `environments/NAME.yaml`."""
        project = self.project()["properties"]
        ids = map_of({"id": text("The id of the organization in this environment.")}, required=("id",))
        roots = {
            root.place.section_in(None): {"description": f"The id of each {root.name}.", "type": "object", "additionalProperties": ids}
            for root in self.kinds.roots
        }
        match = {"description": "Which resources: an address or a pattern.", "type": "string", "pattern": "^[^/]+(/[^/]+)*$"}
        names = {"enum": sorted({name for kind in self.kinds.values() for name in self._patchable(kind)})}
        fields = {
            "description": "Fields, and their values in this environment.",
            "type": "object",
            "minProperties": 1,
            "propertyNames": names,
        }
        changed = {**map_of({"match": match, "set": fields}, required=("match", "set")), "allOf": self._by_kind()}
        remove = {"description": "Remove them, with everything in them.", "const": True}
        removed = map_of({"match": match, "remove": remove}, required=("match", "remove"))
        patch = chosen([({"required": ["remove"]}, removed)], changed)
        values = {"description": "Values of variables that the project file declares.", "type": "object", "additionalProperties": LITERAL}
        made = map_of(
            {
                "vars": values,
                SECRETS: FILES_OF_SECRETS,
                ServiceSection.SECTION: project[ServiceSection.SECTION],
                "state": project["state"],
                **roots,
                "patch": {"description": "What differs in this environment.", "type": "array", "items": patch},
                "removed": project["removed"],
            },
            "The file of an environment: environments/NAME.yaml.",
            ignored=True,
        )
        return {**made, "not": {"required": ["version"]}}

    def _by_kind(self) -> list[Schema]:
        """The fields that a patch may set, if its pattern determines the kind."""
        return [
            {
                "if": {"properties": {"match": {"pattern": _ending(kind)}}, "required": ["match"]},
                "then": {"properties": {"set": {"properties": self._patchable(kind), "additionalProperties": False}}},
            }
            for kind in self.kinds.values()
        ]

    def _patchable(self, kind: Kind) -> Schema:
        """The fields of a kind that a patch may set, as references to their definitions."""
        own = f"#/$defs/{kind.name}"
        if kind.place.value_is is not None:
            return {kind.place.value_is: {"$ref": own}}
        made = self.resources.definition(kind)
        path = f"{own}/properties" if "properties" in made else f"{own}/then/properties"
        tag = [] if kind.place.tag is None or kind.place.tag not in kind.fields else [kind.place.tag]
        names = [*tag, *self.resources.fields(kind), "id", "protect", "adopt", IGNORE_CHANGES, *(["expect"] if kind.expectable else [])]
        return {name: {"$ref": f"{path}/{name}"} for name in dict.fromkeys(names)}

    def split(self) -> Schema:
        """The schema of a list that is split into files."""
        doc = "Files that contain the nodes or entries, by name or pattern; in the order of the names, or as listed."
        name = {"type": "string", "pattern": INCLUDED}
        made = map_of(
            {INCLUDE: {"description": doc, **either([{"type": "array", "items": name, "minItems": 1}, name])}}, required=(INCLUDE,)
        )
        return {"description": "Split into files.", **made}

    def unsplit(self) -> Schema:
        """What `forEach` may contain: none of its maps and lists is split into files."""
        maps, lists = self._all_sections()
        inner = {"$ref": "#/$defs/unsplit"}
        whole = {"properties": {INCLUDE: {"not": {"type": ["string", "array"]}}}, "additionalProperties": inner, "items": inner}
        return {"description": "Inside forEach.", "properties": dict.fromkeys([*maps, *lists], whole)}

    def _all_sections(self) -> tuple[dict[str, Kind], dict[str, list[str]]]:
        """The maps by name, and the kinds that have each list."""
        maps: dict[str, Kind] = {root.place.section_in(None): root for root in self.kinds.roots}
        lists: dict[str, list[str]] = {}
        for name in self.kinds:
            maps |= self.kinds.sections(name)
            for section in self.kinds.lists(name):
                lists.setdefault(section, []).append(name)
        return maps, lists

    def _everywhere(self) -> Schema:
        """The keys that every file may have at its top."""
        address = {"$ref": "#/$defs/address"}
        action = {"description": "forget: stop managing it; delete-all: with what is unmanaged in it.", "enum": list(REMOVED_ACTIONS)}
        removed = map_of({"address": address, "action": action}, required=("address", "action"))
        moved = map_of({"from": address, "to": address}, required=("from", "to"))
        return {
            **{root.place.section_in(None): self.resources.section(root) for root in self.kinds.roots},
            "removed": {"description": "What happens to addresses that are no longer declared.", "type": "array", "items": removed},
            "moved": {"description": "Addresses that were renamed, with everything below them.", "type": "array", "items": moved},
        }


def _ending(kind: Kind) -> str:
    """The end of addresses and patterns that match resources of one kind only."""
    if kind.within is None:
        return r"^(?!\*\*$)[^/]+$"
    return f"(^|/){kind.name}$" if kind.one_per else rf"(^|/){kind.name}/(?!\*\*$)[^/]+$"
