// The views of a preview: requests, readers, and sites before and after. Everything is made of the two JSON elements of the page, lazily:
// a view when its fragment is asked for, a long list in parts. Texts become text nodes, so that none of them can be markup.
"use strict";
(() => {
  const PART = 60; // rows of a long list that are shown at once
  const GENERAL = ["anyone", "anyone-with-the-address", "visitor", "agent"]; // who can be chosen for every site, with its links and visitors
  const ORDER = ["opened", "gone", "closed", "moved", "replaced", "renamed", "reordered", "added", "new"];
  const TAGS = {
    opened: ["!", "newly readable", "bad"], gone: ["−", "gone", "bad"], closed: ["−", "not readable", "warn"], moved: ["→", "moved", "warn"],
    replaced: ["≠", "other page", "warn"], renamed: ["~", "renamed", "warn"], reordered: ["↕", "reordered", "soft"], added: ["+", "added here", "good"], new: ["+", "new", "good"],
  };
  const ELEMENTS = new Set("A,P,UL,OL,LI,H2,H3,H4,H5,H6,STRONG,EM,S,CODE,PRE,BLOCKQUOTE,HR,BR,TABLE,THEAD,TBODY,TR,TH,TD,DIV,SPAN".split(","));
  const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const overview = document.getElementById("overview"), view = document.getElementById("view"), name = document.title;
  let report, data; // the document of the rehearsal, and the data of the preview

  // -- elements -----------------------------------------------------------------------------------------------------------------------

  const visible = (text) => String(text).replace(UNSEEN, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
  const h = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
    }
    for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(child.nodeType ? child : visible(child));
    return element;
  };
  const count = (number, word, words) => `${number.toLocaleString("en")} ${number === 1 ? word : words || word + "s"}`;
  const tag = (status) => h("span", { class: `tag ${TAGS[status][2]}`, "data-sign": TAGS[status][0] }, TAGS[status][1]);
  const list = (rows, make, attributes, least = 0) => {
    const shown = h("ul", attributes);
    const more = (from) => {
      const next = Math.max(from + PART, least + 1);
      for (const row of rows.slice(from, next)) shown.append(make(row));
      if (next < rows.length) {
        const item = h("li", {}, h("button", { type: "button", click: () => { item.remove(); more(next); shown.children[next]?.querySelector("a, summary")?.focus(); } }, `Show ${Math.min(PART, rows.length - next)} more of ${rows.length.toLocaleString("en")}`));
        shown.append(item);
      }
    };
    more(0);
    return shown;
  };
  const part = (title, rows, make, empty) => h("section", { class: "part" }, h("h2", {}, title), rows.length ? list(rows, make) : h("p", { class: "soft" }, empty));
  const broken = (text) => text.split(/(?<=\w)(?=\/)/).flatMap((piece, at) => at ? [document.createElement("wbr"), piece] : [piece]);
  const short = (url) => { const found = /^https?:\/\/([^/]*)(.*)$/.exec(url); return !found ? url : /^(127\.0\.0\.1|localhost|\[::1\])(:|$)/.test(found[1]) ? found[2] || "/" : found[1] + found[2]; };

  // -- what readers see after a request -----------------------------------------------------------------------------------------------------

  const cached = (make) => { const kept = new Map(); return (...keys) => { const key = keys.join("\n"); if (!kept.has(key)) kept.set(key, make(...keys)); return kept.get(key); }; };
  const startReaders = cached(() => {
    const rows = data.objects.map(() => []);
    data.start.forEach((objects, reader) => objects.forEach((object) => rows[object].push(reader)));
    return rows;
  });
  // Compared with the start: what was opened and closed, as pairs of reader and object; all that differs; the numbers of dead URLs.
  const stateAt = cached((after) => {
    const net = new Map(), dead = new Set(), opened = new Map(), closed = new Map();
    for (const moment of data.moments.slice(0, after)) {
      for (const [pairs, sign] of [[moment.gained, 1], [moment.lost, -1]]) for (const [reader, object] of pairs) {
        const key = reader * data.objects.length + object, now = (net.get(key) || 0) + sign;
        if (now) net.set(key, now); else net.delete(key);
      }
      for (const [pairs, [more, less]] of [[opened, moment.opened], [closed, moment.closed]]) { more.forEach((pair) => pairs.set(pair.join(), pair)); less.forEach((pair) => pairs.delete(pair.join())); }
      moment.dead.forEach((url) => dead.add(url));
      moment.back.forEach((url) => dead.delete(url));
    }
    return { opened, closed, net, dead: [...dead].sort((one, other) => one - other) };
  });
  const readersOf = (object, after) => {
    const { net } = stateAt(after), readers = new Set(startReaders()[object]);
    data.readers.forEach((_, reader) => { const sign = net.get(reader * data.objects.length + object); if (sign === 1) readers.add(reader); if (sign === -1) readers.delete(reader); });
    return readers;
  };
  const urls = cached(() => data.urls.flatMap((row) => row.paths.map((path, index) => ({ url: row.begin + path, page: data.pages[row.pages[index]] }))));
  const who = (reader) => data.readers[reader].who;
  const objectName = (object) => object.title || object.address || object.id;
  const objectNote = (object) => [object.kind.replaceAll("-", " "), object.address].filter(Boolean).join(", ");
  const byReader = (pairs) => {
    const rows = new Map();
    for (const [reader, object] of pairs) rows.set(reader, [...(rows.get(reader) || []), object]);
    const alike = new Map();
    for (const [reader, objects] of rows) { const key = objects.sort((one, other) => one - other).join(); alike.set(key, { readers: [...(alike.get(key)?.readers || []), reader], objects }); }
    return [...alike.values()].sort((one, other) => other.objects.length - one.objects.length);
  };
  // A wider class of readers stands for those whom it includes.
  const widest = (readers) => {
    const names = new Set(readers.map((reader) => data.readers[reader].reader)), wide = names.has("anyone") ? /^(anyone-with-the-address|visitor|link:|member)/ : names.has("anyone-with-the-address") ? /^(visitor|link:)/ : /^$/;
    return readers.filter((reader) => !wide.test(data.readers[reader].reader));
  };
  const readerRow = (after) => ({ readers, objects }) => h("li", {}, h("b", {}, widest(readers).map(who).join(", ")),
    list(objects, (object) => h("li", {}, h("a", { href: `#/readers/${object}?after=${after}` }, objectName(data.objects[object])), h("small", {}, broken(objectNote(data.objects[object]))))));

  // -- requests -----------------------------------------------------------------------------------------------------------------------------

  const steps = () => report.moments;
  const ifCertain = (sentence) => report.unread.length ? "Not known: not everything could be read." : sentence;
  const stepName = (moment) => (moment.what ? moment.what[0].toUpperCase() + moment.what.slice(1) : moment.request).replaceAll(" -> ", " → ");
  function requestsView([asked]) {
    if (!steps().length) return [h("h1", { tabindex: -1 }, "The plan sends no requests")];
    const after = Math.min(Math.max(Number(asked) || report.worst?.after || 1, 1), steps().length), first = Math.floor((after - 1) / PART) * PART;
    const rows = steps().slice(first, first + PART);
    const nav = h("nav", { "aria-label": "Requests" },
      first > 0 && h("p", {}, h("a", { href: `#/requests/${first}` }, `Requests before ${first + 1}`)),
      h("ol", { class: "rows" }, rows.map((moment) => h("li", {}, h("a", { href: `#/requests/${moment.after}`, "aria-current": moment.after === after && "true" },
        h("span", { class: "number" }, moment.after), h("span", {}, stepName(moment)), h("small", {}, broken(moment.address || moment.request)),
        (moment.deadUrls > 0 || moment.opened > 0) && h("small", { class: report.worst?.after === moment.after ? "bad" : null }, [moment.deadUrls && `${count(moment.deadUrls, "URL")} dead`, moment.opened && `${count(moment.opened, "object")} opened`, report.worst?.after === moment.after && "worst"].filter(Boolean).join(" · ")))))),
      first + PART < steps().length && h("p", {}, h("a", { href: `#/requests/${first + PART + 1}` }, `Requests after ${first + PART}`)));
    return [h("div", { class: "split" }, nav, h("div", {}, moment(after)))];
  }
  function moment(after) {
    const row = steps()[after - 1], state = stateAt(after), delta = data.moments[after - 1] ;
    const groups = [];
    for (const { url, page } of state.dead.map((number) => urls()[number]).sort((one, other) => one.url < other.url ? -1 : 1)) {
      const top = groups.findLast((group) => url.startsWith(group.url + "/"));
      if (top) top.below.push({ url, page }); else groups.push({ url, page, below: [] });
    }
    const urlRow = ({ url, page }) => h("li", {}, broken(short(url)), h("small", {}, titleOf(page)));
    const objects = (pairs) => new Set(pairs.map(([, object]) => object)).size, more = objects(delta.opened[0]), less = objects(delta.closed[0]);
    const alone = [more && `${count(more, "object")} can be read by somebody new`, less && `${count(less, "object")} can no longer be read by somebody`, delta.dead.length && `${count(delta.dead.length, "URL")} stop answering`, delta.back.length && `${count(delta.back.length, "URL")} answer again`].filter(Boolean);
    return [
      h("p", { class: "over" }, report.worst?.after === after ? "The worst moment" : "If it stops here"),
      h("h1", { tabindex: -1 }, `After request ${after.toLocaleString("en")} of ${steps().length.toLocaleString("en")}`),
      h("p", {}, stepName(row), row.address && h("span", { class: "soft" }, " of " + row.address)),
      h("p", { class: "soft small mono" }, broken(row.request)),
      h("p", {}, `${count(row.deadUrls, "published URL")} ${row.deadUrls === 1 ? "answers" : "answer"} 404${row.deadFor?.length ? " to " + row.deadFor.join(", ") : ""}, and ${row.opened ? count(row.opened, "object") + " can be read by somebody new" : `nobody can read more${report.unread.length ? " of what could be read" : ""}`}.`),
      h("p", { class: "soft small" }, alone.length ? `By this request: ${alone.join(", ")}.` : ifCertain("This request changes nothing that a reader sees.")),
      h("p", { class: "pager" }, after > 1 && h("a", { href: `#/requests/${after - 1}` }, "Previous"), after < steps().length && h("a", { href: `#/requests/${after + 1}` }, "Next")),
      part("Newly readable", byReader([...state.opened.values()]), readerRow(after), ifCertain("Nobody can read more than at the start.")),
      part("No longer readable", byReader([...state.closed.values()]), readerRow(after), ifCertain("Nobody can read less than at the start.")),
      part("URLs that answer 404", groups, (group) => {
        if (!group.below.length) return urlRow(group);
        const inner = h("details", { toggle: () => inner.children.length < 2 && inner.append(list(group.below, urlRow)) }, h("summary", {}, `with ${count(group.below.length, "URL")} below it`));
        return h("li", {}, broken(short(group.url)), h("small", {}, titleOf(group.page)), inner);
      }, ifCertain("Every URL that answered at the start answers.")),
    ];
  }

  // -- readers of an object ---------------------------------------------------------------------------------------------------------------

  function readersView([object], query) {
    if (object !== undefined && data.objects[object]) return objectView(Number(object), query);
    const changed = new Set(data.moments.flatMap((row) => [...row.gained, ...row.lost].map(([, item]) => item)));
    const rows = h("div", {}), field = h("input", { type: "search", id: "search", autocomplete: "off", value: query.get("q") || "", input: () => show() });
    const show = () => {
      const wanted = field.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      const hits = data.objects.map((item, number) => ({ item, number })).filter(({ item }) => wanted.every((word) => `${item.title} ${item.address || ""} ${item.kind}`.toLocaleLowerCase().includes(word)));
      hits.sort((one, other) => changed.has(other.number) - changed.has(one.number) || one.number - other.number);
      rows.replaceChildren(h("p", { class: "soft small", role: "status" }, `${count(hits.length, "object")}, those with changed readers first`), hits.length ? list(hits, ({ item, number }) => h("li", {}, h("a", { href: `#/readers/${number}` }, objectName(item)), " ", changed.has(number) && h("span", { class: "warn small" }, "readers change"), h("small", {}, broken(objectNote(item))))) : h("p", {}, "No object has these words in its title or address."));
    };
    show();
    return [h("h1", { tabindex: -1 }, "Who reads what"), h("p", { class: "field" }, h("label", { for: "search" }, "Find"), field), h("div", { class: "part" }, rows)];
  }
  function objectView(object, query) {
    const item = data.objects[object], last = data.moments.length, at = h("div", { class: "part" });
    const asked = query.get("after"), chosen = asked === null ? last : Math.min(Math.max(Number(asked) || 0, 0), last);
    const number = h("input", { type: "number", id: "after", min: 0, max: last, value: chosen }), range = h("input", { type: "range", min: 0, max: last, value: chosen, "aria-label": "After request" });
    const show = (after) => {
      number.value = range.value = after;
      const now = readersOf(object, after), start = new Set(startReaders()[object]), { opened } = stateAt(after);
      const rows = data.readers.map((_, reader) => reader).filter((reader) => now.has(reader) || start.has(reader));
      at.replaceChildren(h("h2", {}, after === 0 ? "At the start" : after === last ? `At the end, after request ${last}` : `After request ${after}`),
        rows.length ? list(rows, (reader) => h("li", {}, h("span", { class: now.has(reader) ? null : "soft" }, who(reader)), " ", opened.has(`${reader},${object}`) && tag("opened"), now.has(reader) && !start.has(reader) && item.created && tag("new"), !now.has(reader) && tag("closed"))) : h("p", { class: "soft" }, "No reader."));
    };
    number.addEventListener("input", () => number.value !== "" && show(Math.min(Math.max(Number(number.value), 0), last)));
    range.addEventListener("input", () => show(Number(range.value)));
    show(chosen);
    const events = data.moments.flatMap((row, index) => [["gained", "can read it"], ["lost", "can no longer read it"]].map(([key, verb]) => [index + 1, row[key].filter(([, other]) => other === object).map(([reader]) => who(reader)), verb])).filter(([, readers]) => readers.length);
    return [h("p", { class: "over" }, h("a", { href: "#/readers" }, "Readers")), h("h1", { tabindex: -1 }, "Who reads ", objectName(item)), h("p", { class: "soft" }, broken(objectNote(item)), item.created ? "; the plan creates it" : ""),
      last > 0 && h("p", { class: "field" }, h("label", { for: "after" }, "After request"), number, h("span", { class: "soft small" }, `of ${last}`), range), at,
      part("Changes on the way", events, ([after, readers, verb]) => h("li", {}, h("a", { href: `#/requests/${after}` }, `Request ${after}`), `: ${readers.join(", ")} ${verb}`), ifCertain("Its readers do not change."))];
  }

  // -- sites --------------------------------------------------------------------------------------------------------------------------------

  const siteOf = cached((side, id) => data[side].sites.find((site) => site.id === id) || null);
  const contentOf = (side, id) => (side === "after" && data.after.contents[id]) || data.before.contents[id] || data.after.contents[id];
  const audience = cached((number) => new Set(data.audiences[number]));
  const reads = (shown, reader) => reader === null || audience(shown.readers).has(reader);
  const keyOf = (content, page) => `${content}/${page}`;
  const pageTitles = cached(() => {
    const titles = new Map();
    for (const side of ["before", "after"]) for (const [content, { pages }] of Object.entries(data[side].contents)) for (const [, page, title] of pages) titles.set(keyOf(content, page), title);
    return titles;
  });
  const titleOf = ([content, page]) => pageTitles().get(keyOf(content, page)) || "";
  // Where a reader finds the pages of a site on one side: by URL, and by page.
  const index = cached((side, id, asked) => {
    const site = siteOf(side, id), reader = asked === "" || asked === null ? null : Number(asked), byUrl = new Map(), byPage = new Map(), tabs = [];
    if (!site || !reads(site, reader)) return { site, open: false, byUrl, byPage, tabs };
    const variantsOf = (section, group, items) => {
      const variants = items.filter((variant) => reads(variant, reader)).map((variant) => {
        const begin = [site.url, section?.path, variant.path].filter(Boolean).join("/");
        const shown = { variant, section, begin, title: variant.title, pages: [] };
        for (const [depth, page, title, path, hidden] of contentOf(side, variant.content)?.pages || []) {
          const guarded = variant.guarded?.[page];
          if (guarded !== undefined && !reads({ readers: guarded }, reader)) continue;
          const place = { key: keyOf(variant.content, page), url: path ? `${begin}/${path}` : null, title, depth, hidden, shown, guarded };
          shown.pages.push(place);
          if (path) {
            if (!byUrl.has(place.url)) byUrl.set(place.url, place);
            if (byPage.has(place.key)) byPage.get(place.key).push(place); else byPage.set(place.key, [place]);
          }
        }
        return shown;
      });
      if (variants.length || section) tabs.push({ section, group, title: section?.title || "", id: section?.id || "", variants });
    };
    const level = (parts, group) => {
      for (const inner of parts) {
        if (inner.kind === "group") level(inner.parts, inner.title);
        else if (inner.kind === "section" && reads(inner, reader)) variantsOf(inner, group, inner.parts);
      }
      const root = parts.filter((inner) => inner.content !== undefined);
      if (root.length) variantsOf(null, "", root);
    };
    level(site.parts, "");
    return { site, open: true, byUrl, byPage, tabs };
  });
  // The page behind each URL, also those that leave a default segment out.
  const answering = cached((side) => {
    const pages = new Map(), dead = new Set(side === "after" ? stateAt(data.moments.length).dead : []);
    urls().forEach(({ url, page }, number) => dead.has(number) || pages.set(url, keyOf(...page)));
    if (side === "after") for (const row of data.newUrls) row.paths.forEach((path, at) => pages.set(row.begin + path, keyOf(...data.pages[row.pages[at]])));
    return pages;
  });
  const placeAt = (side, id, reader, url) => {
    const here = index(side, id, reader);
    return here.byUrl.get(url) || here.byPage.get(answering(side).get(url) || "")?.[0] || null;
  };
  const placesOf = (side, key, reader) => data[side].sites.flatMap((site) => index(side, site.id, reader).byPage.get(key) || []);
  const readBefore = (reader, content) => data.before.sites.some((site) => index("before", site.id, reader).tabs.some((tab) => tab.variants.some((shown) => shown.variant.content === content)))
    || (reader !== "" && (data.start[reader] || []).some((object) => data.objects[object].id === content));
  // The differences of a site for one reader: a status for each page on each side, and groups of pages with the same fate.
  const compare = cached((id, reader) => {
    const before = index("before", id, reader), after = index("after", id, reader), statuses = { before: new Map(), after: new Map() }, groups = new Map();
    let number = 0;
    const note = (status, place, other, side) => {
      statuses[side].set(place, status);
      number += 1;
      const key = [status, place.shown.variant.id, other?.shown.variant.id].join("\n");
      if (!groups.has(key)) groups.set(key, { status, shown: place.shown, other: other?.shown, rows: [] });
      groups.get(key).rows.push({ before: side === "before" ? place : other, after: side === "after" ? place : other });
    };
    const all = index("after", id, ""), known = cached((content) => readBefore(reader, content));
    for (const place of before.byUrl.values()) {
      const others = after.byPage.get(place.key);
      if (!others) note(all.byPage.has(place.key) ? "closed" : "gone", place, placesOf("after", place.key, reader)[0], "before");
      else if (!others.some((other) => other.url === place.url)) {
        const other = others.find((candidate) => candidate.shown.variant.id === place.shown.variant.id) || others[0];
        note("moved", place, other, "before");
        statuses.after.set(other, "moved");
      } else if (others[0].title !== place.title) { note("renamed", place, others[0], "before"); statuses.after.set(others[0], "renamed"); }
    }
    for (const place of after.byUrl.values()) {
      if (before.byPage.has(place.key)) continue;
      const content = place.shown.variant.content, old = data.before.contents[content] || data.objects.some((object) => object.id === content && !object.created);
      note(!old ? "new" : known(content) ? "added" : "opened", place, placesOf("before", place.key, reader)[0], "after");
    }
    const names = [], marks = new Map(), parts = (tree, found) => { for (const inner of tree?.parts || []) { if (reads(inner, reader === "" ? null : Number(reader))) found.set(inner.id, inner); parts(inner, found); } return found; };
    const was = parts(before.open && before.site, new Map()), now = parts(after.open && after.site, new Map());
    for (const [part, shown] of was) if (now.has(part) && now.get(part).title !== shown.title) marks.set(part, "renamed") && names.push({ status: "renamed", text: `${shown.title} → ${now.get(part).title}`, note: shown.kind });
    if (before.open && after.open && before.site.title !== after.site.title) names.push({ status: "renamed", text: `${before.site.title} → ${after.site.title}`, note: "site" });
    for (const tab of before.tabs) {
      const now = after.tabs.find((candidate) => candidate.id === tab.id), order = (one, other) => one.variants.map((shown) => shown.variant.id).filter((variant) => other.variants.some((shown) => shown.variant.id === variant)).join("\n");
      if (now && now.group !== tab.group) marks.set(tab.id, "moved") && names.push({ status: "moved", text: now.title, note: now.group ? `now in ${now.group}` : `no longer in ${tab.group}` });
      if (now && order(tab, now) !== order(now, tab)) names.push({ status: "reordered", text: now.title || "Spaces", note: `now ${now.variants.map((shown) => shown.title).join(", ")}` });
    }
    const row = (tabs, other) => tabs.map((tab) => tab.id).filter((tab) => other.some((candidate) => candidate.id === tab)).join("\n");
    if (row(before.tabs, after.tabs) !== row(after.tabs, before.tabs)) names.push({ status: "reordered", text: "Sections", note: `now ${after.tabs.map((tab) => tab.title).join(", ")}` });
    const sorted = gathered([...groups.values()], before, after).sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
    return { before, after, statuses, groups: sorted, names, marks, number: number + names.length };
  });
  // Groups with one fate: of a whole site that opens or closes, and of the variants of one section.
  function gathered(groups, before, after) {
    const fates = new Map();
    for (const group of groups) {
      const sites = before.open !== after.open, begin = (shown) => shown?.section ? [shown.begin.slice(0, shown.begin.length - shown.variant.path.length).replace(/\/$/, ""), shown.variant.path] : [shown?.begin ?? "", ""];
      const [from, path] = begin(group.shown), [to, other] = begin(group.other), together = group.shown.section && (!group.other || path === other);
      const key = sites ? group.status : together ? [group.status, from, to].join("\n") : [group.status, group.shown.begin, group.other?.begin].join("\n");
      const whole = { status: group.status, title: sites ? "The whole site" : group.shown.section?.title, from: sites ? (before.site || after.site).url : from, to: group.other && !sites ? to : "", rows: [], parts: 0 };
      const fate = fates.get(key) || whole;
      fate.rows.push(...group.rows);
      fate.parts += 1;
      fate.one = { title: label(group.shown), from: group.shown.begin, to: group.other?.begin };
      fates.set(key, fate);
    }
    return [...fates.values()].map((fate) => (fate.parts > 1 ? fate : { ...fate, ...fate.one }));
  }
  const readersOn = (id) => {
    const numbers = new Set(), visit = (tree) => { data.audiences[tree.readers].forEach((reader) => numbers.add(reader)); (tree.parts || []).forEach(visit); };
    for (const side of ["before", "after"]) if (siteOf(side, id)) visit(siteOf(side, id));
    const rank = (reader) => GENERAL.indexOf(data.readers[reader].reader);
    data.readers.forEach((_, reader) => rank(reader) >= 0 && numbers.add(reader));
    return [...numbers].sort((one, other) => (rank(one) < 0 ? 2.5 : rank(one)) - (rank(other) < 0 ? 2.5 : rank(other)) || one - other);
  };
  const siteTitle = (id) => (siteOf("after", id) || siteOf("before", id)).title;
  const siteIds = () => [...new Set([...data.after.sites, ...data.before.sites].map((site) => site.id))];
  const label = (shown) => shown.section && shown.section.title !== shown.title ? `${shown.section.title} › ${shown.title}` : shown.title;

  function siteView([id], query) {
    if (id === undefined || !siteIds().includes(id)) {
      const cards = overview.querySelector(".rh-sites > ul");
      if (cards?.children.length === report.sites.length) return [h("h1", { tabindex: -1 }, "Sites"), h("div", { class: "rehearsal" }, h("div", { class: "rh-sites" }, cards.cloneNode(true)))];
      const rows = [...report.sites].sort((one, other) => other.differences - one.differences);
      return [h("h1", { tabindex: -1 }, "Sites"), h("div", { class: "part" }, list(rows, (site) => h("li", {}, h("a", { href: `#/site/${encodeURIComponent(site.id)}` }, site.title), h("small", {}, site.differences ? count(site.differences, "difference") : report.unread.length ? "not all known" : "no differences", ", ", broken(short(site.url))))))];
    }
    const offered = readersOn(id), asked = offered.find((reader) => data.readers[reader].reader === query.get("as"));
    const reader = asked ?? offered.find((candidate) => compare(id, candidate).before.open || compare(id, candidate).after.open) ?? offered[0] ?? "";
    const found = compare(id, reader), as = reader === "" ? "" : data.readers[reader].reader;
    const b = query.get("b") ?? (query.get("a") ? "" : firstOf(found)[0]), a = query.get("a") ?? firstOf(found)[1];
    const link = (before, after, as_ = as) => `#/site/${encodeURIComponent(id)}?${new URLSearchParams({ as: as_, b: before, a: after })}`;
    const to = { id, reader, as, b, a, link, found };
    const side = sessionSide();
    const panes = ["before", "after"].map((name) => pane(name, to, side));
    const press = (name) => { sessionSide(name); panes.forEach((shown, at) => shown.toggleAttribute("data-off", ["before", "after"][at] !== name)); buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(["before", "after"][at] === name))); };
    const buttons = ["before", "after"].map((name) => h("button", { type: "button", "aria-pressed": String(name === side), click: () => press(name) }, name === "before" ? "Before" : "After"));
    const others = siteIds();
    return [
      h("p", { class: "over" }, h("a", { href: "#/site" }, count(others.length, "site"))),
      h("h1", { tabindex: -1 }, siteTitle(id)),
      h("nav", { class: "part", "aria-label": "Read as" }, h("h2", {}, "Read as"), h("div", { class: "readers" }, offered.map((candidate) => h("a", { href: link(b, a, data.readers[candidate].reader), "aria-current": candidate === reader && "true" }, who(candidate), h("small", {}, compare(id, candidate).number || (compare(id, candidate).before.open || compare(id, candidate).after.open ? "none" : "cannot open")))))),
      h("section", { class: "part" }, h("h2", {}, `Differences for ${reader === "" ? "everybody" : who(reader)}`), differences(to)),
      h("div", { class: "switch", role: "group", "aria-label": "Side" }, buttons),
      h("div", { class: "panes" }, panes),
    ];
  }
  // The URLs with which a site begins on both sides: those of the first difference.
  function firstOf(found) {
    const row = found.groups[0], first = (side) => found[side].tabs.flatMap((tab) => tab.variants).flatMap((shown) => shown.pages).find((place) => place.url)?.url ?? (found.after.site || found.before.site).url;
    return row ? urlsOf(row, found) : [first("before"), first("after")];
  }
  function urlsOf({ rows, status }, found) {
    const before = rows[0].before && found.before.byUrl.has(rows[0].before.url) ? rows[0].before.url : null, after = rows[0].after && found.after.byUrl.has(rows[0].after.url) ? rows[0].after.url : null;
    return [before ?? after, status === "gone" || status === "closed" ? before : after ?? before];
  }
  let chosenSide = "after";
  const sessionSide = (side) => (chosenSide = side || chosenSide);

  function differences({ found, link }) {
    const rows = [...found.names, ...found.groups];
    if (!rows.length) return h("p", { class: "soft" }, ifCertain("This reader sees the same as before."));
    return list(rows, (row) => {
      if (row.text) return h("li", {}, h("div", {}, tag(row.status), h("span", {}, row.text, h("small", {}, row.note))));
      const pages = `${count(row.rows.length, "page")}, ${short(row.from)}${row.to && row.to !== row.from && ["moved", "gone"].includes(row.status) ? ` → ${short(row.to)}` : ""}`;
      return h("li", {}, h("a", { href: link(...urlsOf(row, found)) }, tag(row.status), h("span", {}, h("b", {}, row.title), h("small", {}, broken(pages)))));
    }, { class: "changes" });
  }

  function pane(side, to, chosen) {
    const { id, reader, found } = to, here = found[side], url = side === "before" ? to.b : to.a, word = side === "before" ? "Before" : "After";
    const place = here.open ? placeAt(side, id, reader, url) : null, go = (target) => goTo(side, to, target);
    const section = h("section", { class: "pane", "aria-label": word, "data-off": side !== chosen }, h("header", {}, h("h2", {}, word), h("span", { class: "mono" }, broken(short(url)))));
    if (!here.open) {
      const why = !here.site ? (side === "before" ? "This site does not exist yet" : "This site is deleted") : here.site.published ? "This reader cannot open the site" : "The site is not published";
      section.append(h("div", {}, missing(side, to, url, why)));
      return section;
    }
    const tabs = here.tabs.filter((tab) => tab.title), entire = found.before.open !== found.after.open;
    if (tabs.length) section.append(h("nav", { class: "tabs", "aria-label": `Sections ${side}` }, tabs.map((tab) => {
      const first = pagesOf(tab).find((candidate) => candidate.url), status = common(pagesOf(tab), found.statuses[side]) || found.marks.get(tab.id);
      return first ? h("a", { href: go(first), "aria-current": place?.shown.section?.id === tab.id && "true" }, tab.group ? `${tab.group}: ` : "", tab.title, status && !entire && [" ", tag(status)]) : h("span", { class: "soft" }, tab.title);
    })));
    const tab = here.tabs.find((candidate) => place ? candidate.variants.includes(place.shown) : false);
    // A status is shown once, where everything below has it.
    const whole = entire || tab && common(pagesOf(tab), found.statuses[side]), shared = entire || place && common(place.shown.pages, found.statuses[side]) && (whole || tab.variants.length > 1);
    if (tab && tab.variants.length > 1) section.append(h("nav", { class: "variants", "aria-label": `Variants ${side}` }, tab.variants.map((shown) => {
      const first = shown.pages.find((candidate) => candidate.url), status = common(shown.pages, found.statuses[side]) || found.marks.get(shown.variant.id);
      return first ? h("a", { href: go(shown.pages.find((candidate) => candidate.key.split("/")[1] === place.key.split("/")[1] && candidate.url) || first), "aria-current": shown === place.shown && "true" }, shown.title, status && !whole && [" ", tag(status)]) : h("span", { class: "soft" }, shown.title);
    })));
    const tree = place && h("nav", { "aria-label": `Pages ${side}`, tabindex: 0 }, list(place.shown.pages, (candidate) => {
      const status = found.statuses[side].get(candidate), item = candidate.url
        ? h("a", { href: go(candidate), "aria-current": candidate === place && "page" }, candidate.title, candidate.hidden ? " (not listed)" : "", status && !shared && tag(status))
        : h("span", { class: "plain" }, candidate.title);
      item.style.paddingLeft = `${0.5 + Math.min(candidate.depth, 5) * 0.8}rem`;
      return h("li", {}, item);
    }, { class: "tree" }, place.shown.pages.indexOf(place)));
    section.append(h("div", { class: place ? "body" : "" }, tree, place ? article(side, to, place) : missing(side, to, url, side === "before" ? "Nothing answers here yet" : "Page not found")));
    return section;
  }
  const pagesOf = (tab) => tab.variants.flatMap((shown) => shown.pages);
  // The status that all pages share, if they have one.
  const common = (places, statuses) => { const all = new Set(places.filter((place) => place.url).map((place) => statuses.get(place))); return all.size === 1 ? [...all][0] : undefined; };
  // A page that is opened on one side is shown at the same URL on the other: there it may be another page, or none.
  const goTo = (side, { link, found }, place) => {
    if (side === "before") return link(place.url, place.url);
    const old = found.before.byPage.get(place.key)?.find((candidate) => candidate.url === place.url) || found.before.byPage.get(place.key)?.[0];
    return link(old?.url ?? place.url, place.url);
  };
  function missing(side, to, url, title) {
    const key = to.found[side === "after" ? "before" : "after"].byUrl.get(url)?.key || answering("before").get(url);
    const places = key && side === "after" ? placesOf("after", key, to.reader) : [], elsewhere = key && side === "after" && !places.length ? placesOf("after", key, "") : [];
    const where = places.map((place) => to.found.after.byUrl.get(place.url) === place
      ? h("p", {}, "Its content is now at ", h("a", { href: to.link(to.b, place.url) }, broken(short(place.url))))
      : h("p", {}, `Its content is now at ${short(place.url)}`));
    const now = side === "before" && to.found.after.byUrl.get(url), former = now ? placesOf("before", now.key, "")[0] : null;
    return h("div", { class: "article" }, h("p", { class: side === "before" ? "missing soft" : "missing" }, "404"), h("h3", {}, title), where,
      former && h("p", {}, `Its content is at ${short(former.url)}.`),
      elsewhere.length > 0 && h("p", {}, `Its content is at ${short(elsewhere[0].url)}, which this reader cannot read.`),
      key && side === "after" && !places.length && !elsewhere.length && h("p", { class: "soft" }, ifCertain("No site shows its content any more.")));
  }
  // Who reads a page on one side: on this site, and anywhere.
  const objectOf = cached((id) => data.objects.findIndex((object) => object.id === id));
  const readersOfPage = (side, id, key) => {
    const [content] = key.split("/"), object = objectOf(content), places = index(side, id, "").byPage.get(key) || [];
    const readersAt = (some) => some.flatMap((place) => [...audience(place.guarded ?? place.shown.variant.readers)]);
    // Who reads the space may not read a page of it that has a condition of its own; members read all of it.
    const guarded = places.some((place) => place.guarded !== undefined), inside = object < 0 ? [] : [...readersOf(object, side === "before" ? 0 : data.moments.length)];
    const here = new Set(readersAt(places)), others = guarded ? [...readersAt(placesOf(side, key, "")), ...inside.filter((reader) => /^(role|person):/.test(data.readers[reader].reader))] : inside;
    return { here, all: new Set([...here, ...others]) };
  };
  function article(side, to, place) {
    const status = to.found.statuses[side].get(place), was = readersOfPage("before", to.id, place.key), now = readersOfPage("after", to.id, place.key);
    const shown = side === "before" ? was : now, created = objectOf(place.key.split("/")[0]) >= 0 && data.objects[objectOf(place.key.split("/")[0])].created;
    const other = to.found[side === "before" ? "after" : "before"], before = side === "after" ? other.byUrl.get(place.url) : null;
    const replaced = side === "after" && to.b === place.url && before && before.key !== place.key ? (to.found.after.byPage.get(before.key) || [])[0] : null;
    const names = data.readers.map((_, reader) => reader).filter((reader) => was.all.has(reader) || now.all.has(reader));
    return h("div", { class: "article" }, h("h3", {}, place.title), h("p", { class: "soft small" }, label(place.shown), status && [" ", tag(status)]),
      replaced && h("p", { class: "note warn" }, h("span", {}, `Another page answers at this URL now. ${before.title} is at `, h("a", { href: to.link(to.b, replaced.url) }, short(replaced.url)))),
      status === "opened" && h("p", { class: "note bad" }, h("span", {}, "This reader could not read it before.")),
      h("details", {}, h("summary", {}, "Who else sees this page?"), h("ul", {}, names.map((reader) => h("li", {}, who(reader), " ",
        !shown.all.has(reader) ? h("span", { class: "soft" }, side === "after" ? "not any more" : "only after") : !shown.here.has(reader) && h("span", { class: "soft" }, "elsewhere"),
        " ", side === "after" && now.all.has(reader) && !was.all.has(reader) && tag(created ? "new" : "opened")))), !names.length && h("p", { class: "soft" }, "Members only.")),
      text(place.key));
  }

  // -- texts of pages -------------------------------------------------------------------------------------------------------------------

  const fetched = cached((key) => {
    const [content, page] = key.split("/");
    return fetch(`text?${new URLSearchParams({ content, page })}`, { credentials: "same-origin" }).then((answer) => answer.ok ? answer.json() : { reason: `The preview answered ${answer.status}. Is it still running?` }, () => ({ reason: "The preview does not answer. Is it still running?" }));
  });
  function text(key) {
    const shown = h("div", { class: "text" });
    const put = (answer) => { if (answer.html) shown.replaceChildren(...safe(answer.html)); else shown.replaceChildren(h("p", { class: "soft" }, answer.reason || "This page has no text.", answer.command && [" ", h("code", {}, answer.command), " shows them."])); };
    if (data.texts && key in data.texts) put({ html: data.texts[key] });
    else if (data.live) { put({ reason: "Reading the text from the service …" }); fetched(key).then(put); }
    else put(data.texts ? { reason: "The text of this page is not in this file." } : { reason: "Page texts are not in this file.", command: "rehearse --serve" });
    return shown;
  }
  // The server renders texts without raw HTML. What it sends is still cut down to elements and links that can do no harm.
  function safe(html) {
    const copy = (node) => {
      if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.data)];
      if (node.nodeType !== Node.ELEMENT_NODE) return [];
      const children = [...node.childNodes].flatMap(copy);
      if (!ELEMENTS.has(node.tagName)) return children;
      const element = h(node.tagName.toLowerCase(), { class: ["image", "scroll"].find((known) => node.classList.contains(known)) }, children);
      if (node.tagName === "A" && /^(https?:|mailto:)/i.test(node.getAttribute("href") || "")) { element.href = node.getAttribute("href"); element.rel = "noopener noreferrer"; element.target = "_blank"; }
      if (node.tagName === "PRE" || node.classList.contains("scroll")) element.tabIndex = 0;
      return [element];
    };
    return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].flatMap(copy);
  }

  // -- fragments ------------------------------------------------------------------------------------------------------------------------------

  const VIEWS = { requests: requestsView, readers: readersView, site: siteView };
  function show(moved) {
    const [path, query = ""] = location.hash.slice(2).split("?"), [first, ...rest] = path.split("/").map((word) => { try { return decodeURIComponent(word); } catch { return word; } });
    const make = VIEWS[first], kept = scrollY, focused = document.activeElement?.closest?.(".pane")?.getAttribute("aria-label");
    for (const link of document.querySelectorAll("[data-view]")) if (link.dataset.view === (make ? first : "")) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    overview.hidden = Boolean(make);
    view.hidden = !make;
    if (make) view.replaceChildren(...make(rest.filter((word) => word !== ""), new URLSearchParams(query)).flat(Infinity).filter(Boolean)); else view.replaceChildren();
    const heading = view.querySelector("h1"), same = moved && show.last === `${first}/${rest[0] || ""}`;
    for (const current of view.querySelectorAll("nav li > [aria-current]")) { const nav = current.closest("nav"); if (nav.scrollHeight > nav.clientHeight) nav.scrollTop = current.offsetTop - nav.clientHeight / 3; }
    document.title = make && heading ? `${heading.textContent} · ${name}` : name;
    if (moved && same) { scrollTo(0, kept); (focused ? view.querySelector(`.pane[aria-label=${focused}] [aria-current]`) : first === "site" ? view.querySelector(".readers [aria-current]") : null)?.focus({ preventScroll: true }); }
    else if (moved) { scrollTo(0, 0); (heading || document.getElementById("main")).focus({ preventScroll: true }); }
    show.last = `${first}/${rest[0] || ""}`;
  }
  // After the first paint: the overview needs none of it.
  requestAnimationFrame(() => setTimeout(() => {
    report = JSON.parse(document.getElementById("document").textContent);
    data = JSON.parse(document.getElementById("data").textContent);
    addEventListener("hashchange", () => show(true));
    show(false);
    document.documentElement.dataset.ready = "true";
  }));
})();
