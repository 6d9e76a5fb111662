/* infer-serve/endpoints/files.c - OpenAI's /v1/files, on the directory of --files-dir. */
#include "infer-serve/batch/files.h"
#include "infer-serve/http/request.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

endpoint_fn ep_files, ep_file, ep_file_delete;

enum { LIST_MOST = 10000 };

/* ---- lists ---- */

struct entry {
	int64_t created;
	char name[STORE_NAME];
};
struct list {
	const struct store *s;
	const char *purpose, *owner; /* filter: purpose (NULL: any) and group of keys */
	struct buf entries;
};

static int add_file_entry(void *user, const char *name)
{
	struct list *l = user;
	struct entry e = { .created = 0 };
	const struct json *o;
	struct arena mem;
	struct buf text;

	arena_init(&mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	snprintf(e.name, sizeof e.name, "%s", name);
	if (!files_read(l->s, name, l->owner, &text, NULL) &&
	    !jread(&o, &mem, text.at, text.len, "file", NULL) &&
	    (!l->purpose || json_equals(json_get(o, "purpose"), l->purpose))) {
		(void)jread_i64(o, "created_at", &e.created, 0, INT64_MAX, "file", NULL);
		buf_put(&l->entries, &e, sizeof e);
	}
	buf_fini(&text);
	arena_fini(&mem);
	return 0;
}

/* Compare for qsort: newest first, then by name. */
static int compare_newest_first(const void *a, const void *b)
{
	const struct entry *p = a, *q = b;

	return p->created != q->created ? (p->created < q->created) - (p->created > q->created)
	                                : strcmp(p->name, q->name);
}

void ep_files(struct http_request *r)
{
	struct list l = { .s = &r->api.server->store,
		          .purpose = r->head.purpose,
		          .owner = r->api.caller.group };
	struct jwrite w;
	int64_t put = 0, most = r->head.limit ? r->head.limit : LIST_MOST;
	const struct entry *e;
	size_t n, i = 0;
	struct buf text;

	buf_init(&l.entries, MEM_BASE);
	(void)store_each(l.s, FILES_PREFIX, add_file_entry, &l);
	e = (const struct entry *)(const void *)l.entries.at;
	n = l.entries.bad ? 0 : l.entries.len / sizeof *e;
	if (n)
		qsort(l.entries.at, n, sizeof *e, compare_newest_first);
	if (r->head.after) {
		while (i < n && strcmp(e[i].name, r->head.after))
			i++;
		i += i < n;
	}
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_str(&w, "object", "list");
	jw_array(&w, "data");
	size_t first = i;

	buf_init(&text, MEM_BASE);
	for (; i < n && put < most; i++) {
		buf_clear(&text);
		if (files_read(l.s, e[i].name, r->api.caller.group, &text,
		               NULL)) /* the file was deleted meanwhile */
			continue;
		jw_raw(&w, NULL, text.at, text.len);
		put++;
	}
	buf_fini(&text);
	jw_end(&w);
	jw_str(&w, "first_id", put ? e[first].name : NULL);
	jw_str(&w, "last_id", put ? e[i - 1].name : NULL);
	jw_bool(&w, "has_more", i < n);
	jw_end(&w);
	r->out.bad |= l.entries.bad;
	buf_fini(&l.entries);
	http_answer(r, 200, http_json);
}

/* Copy the file name in the path of r, without `tail`. Returns 0 if there is no such file; r was then
 * answered. */
static int find_file(struct http_request *r, const char *tail, char name[STORE_NAME])
{
	size_t n = strlen(r->rest), k = strlen(tail);

	n = n > k && !strcmp(r->rest + n - k, tail) ? n - k : n;
	snprintf(name, STORE_NAME, "%.*s", n < STORE_NAME ? (int)n : STORE_NAME - 1, r->rest);
	if (n < STORE_NAME && files_has(&r->api.server->store, name, r->api.caller.group))
		return 1;
	api_refuse(&r->api, INFER_FAULT_NOT_FOUND, "file_id", "there is no file %.80s", name);
	return 0;
}

void ep_file(struct http_request *r)
{
	static const char content[] = "/content";
	char name[STORE_NAME];
	infer_error err;
	size_t n = strlen(r->rest), k = sizeof content - 1;

	if (!find_file(r, content, name))
		return;
	if (n > k && !strcmp(r->rest + n - k, content)) {
		r->file = store_read(&r->api.server->store, name);
		if (r->file < 0)
			api_refuse(&r->api, INFER_FAULT_NOT_FOUND, "file_id", "%s is gone", name);
		else
			http_answer(r, 200, "application/octet-stream");
	} else if (files_read(&r->api.server->store, name, r->api.caller.group, &r->out, &err)) {
		api_refuse(&r->api, INFER_FAULT_SERVER, NULL, "%s", err.message);
	} else {
		http_answer(r, 200, http_json);
	}
}

void ep_file_delete(struct http_request *r)
{
	char name[STORE_NAME], path[STORE_NAME + 8];
	struct jwrite w;

	if (find_file(r, "", name)) {
		snprintf(path, sizeof path, "%s.json", name);
		if (store_remove(&r->api.server->store, name)) {
			api_refuse(&r->api, INFER_FAULT_SERVER, NULL, "%s: %s", name,
			           strerror(errno));
		} else {
			(void)store_remove(&r->api.server->store, path);
			jw_init(&w, &r->out);
			jw_object(&w, NULL);
			jw_str(&w, "id", name);
			jw_str(&w, "object", "file");
			jw_bool(&w, "deleted", 1);
			jw_end(&w);
			http_answer(r, 200, http_json);
		}
	}
}
