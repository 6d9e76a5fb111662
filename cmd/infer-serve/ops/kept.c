/* infer-serve/ops/kept.c - responses in --files-dir: one file each, named by its id and its owner. */
#include "infer-serve/ops/kept.h"
#include "infer-serve/ops/server.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGITS = 16 }; /* of an id, and of the hash of its owner in the name of the file */
static const char prefix[] = "resp_";

struct kept_entry {
	int64_t made_ns; /* only used to sort the entries of an earlier server */
	char name[STORE_NAME];
};

struct kept *kept_new(void)
{
	struct kept *k = mem_zalloc(MEM_BASE, 1, sizeof *k);

	if (!k)
		return NULL;
	buf_init(&k->before, MEM_BASE);
	buf_init(&k->input, MEM_BASE);
	buf_init(&k->answer, MEM_BASE);
	buf_init(&k->events, MEM_BASE);
	return k;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	buf_fini(&k->before);
	buf_fini(&k->input);
	buf_fini(&k->answer);
	buf_fini(&k->events);
	mem_free(k->previous);
	mem_free(k);
}

/* ---- names ---- */

static const char *owner_digits(const char *name) { return name + sizeof prefix - 1 + DIGITS; }

/* Set the name of the file for an id. Returns 0 if the id has another form. */
static int name_file(char name[STORE_NAME], const char *id, const char *group)
{
	size_t n = sizeof prefix - 1;

	if (strncmp(id, prefix, n) || strlen(id) != n + DIGITS ||
	    strspn(id + n, "0123456789abcdef") != DIGITS)
		return 0;
	snprintf(name, STORE_NAME, "%s%016llx", id,
	         (unsigned long long)rng_hash(0, group, strlen(group)));
	return 1;
}

/* ---- the list ---- */

static int append_entry(struct kept_index *x, const char *name, int64_t made_ns)
{
	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 64;
		struct kept_entry *more = mem_alloc(MEM_BASE, room, sizeof *more);

		if (!more)
			return INFER_ENOMEM;
		if (x->n)
			memcpy(more, x->at, x->n * sizeof *more);
		mem_free(x->at);
		x->at = more;
		x->room = room;
	}
	x->at[x->n].made_ns = made_ns;
	snprintf(x->at[x->n++].name, STORE_NAME, "%s", name);
	return INFER_OK;
}

static void remove_entry(struct kept_index *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (!strcmp(x->at[i].name, name)) {
			memmove(&x->at[i], &x->at[i + 1], (x->n - i - 1) * sizeof *x->at);
			x->n--;
			return;
		}
}

static int list_file(void *user, const char *name)
{
	struct server *s = user;
	struct stat st;

	if (fstatat(s->store.dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	return append_entry(&s->kept, name,
	                    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
}

static int compare_age(const void *a, const void *b)
{
	const struct kept_entry *p = a, *q = b;

	return (p->made_ns > q->made_ns) - (p->made_ns < q->made_ns);
}

int kept_open(struct server *s, infer_error *err)
{
	int rc = store_each(&s->store, prefix, list_file, s);

	if (!rc && s->kept.n)
		qsort(s->kept.at, s->kept.n, sizeof *s->kept.at, compare_age);
	return rc ? err_set(err, rc, "out of memory for the list of responses") : INFER_OK;
}

void kept_close(struct server *s)
{
	mem_free(s->kept.at);
	s->kept = (struct kept_index){ .at = NULL };
}

/* Add a file to the list, and set `oldest` to the one that its owner has too many; empty: none. Returns
 * INFER_OK or INFER_ENOMEM. */
static int list_new(struct server *s, const char *name, char oldest[STORE_NAME])
{
	struct kept_index *x = &s->kept;
	const struct kept_entry *first = NULL;
	size_t n = 0;
	int rc;

	*oldest = 0;
	pthread_mutex_lock(&s->lock);
	remove_entry(x, name);
	for (size_t i = 0; i < x->n; i++)
		if (!strcmp(owner_digits(x->at[i].name), owner_digits(name))) {
			first = first ? first : &x->at[i];
			n++;
		}
	if (n >= KEPT_MOST) {
		snprintf(oldest, STORE_NAME, "%s", first->name);
		remove_entry(x, oldest);
	}
	rc = append_entry(x, name, 0);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* ---- files ---- */

static int refuse_id(const char *id, infer_error *err)
{
	return err_set(err, INFER_EINVAL, "there is no response %.80s", id);
}

/* Check that the record is of this group. */
static int check_owner(const struct buf *text, const char *id, const char *group, infer_error *err)
{
	const struct json *record;
	struct arena mem;
	int rc;

	arena_init(&mem, MEM_BASE);
	rc = jread(&record, &mem, text->at ? text->at : "", text->len, id, err);
	if (!rc && !json_equals(json_get(record, "owner"), group))
		rc = refuse_id(id, err);
	arena_fini(&mem);
	return rc;
}

int kept_read(const struct server *s, const char *id, const char *group, struct buf *to,
              infer_error *err)
{
	char name[STORE_NAME];
	struct buf text;
	int rc;

	if (!name_file(name, id, group) || store_bytes(&s->store, name) < 0)
		return refuse_id(id, err);
	buf_init(&text, MEM_BASE);
	rc = store_get(&s->store, name, &text, err);
	if (!rc)
		rc = check_owner(&text, id, group, err);
	if (!rc)
		buf_put(to, text.at, text.len);
	buf_fini(&text);
	return !rc && to->bad ? err_nomem(err) : rc;
}

int kept_remove(struct server *s, const char *id, const char *group, infer_error *err)
{
	char name[STORE_NAME];

	if (!name_file(name, id, group) || store_bytes(&s->store, name) < 0)
		return refuse_id(id, err);
	pthread_mutex_lock(&s->lock);
	remove_entry(&s->kept, name);
	pthread_mutex_unlock(&s->lock);
	if (!store_remove(&s->store, name))
		return INFER_OK;
	return errno == ENOENT ? refuse_id(id, err) : store_fault(id, err);
}

static void put_items(struct jwrite *w, const char *key, const struct buf *items)
{
	jw_raw(w, key, items->len ? items->at : "[]", items->len ? items->len : 2);
}

/* Copy the id of the response that the JSON text is. */
static int read_id(char id[STORE_NAME], const struct buf *answer, infer_error *err)
{
	const struct json *o, *v;
	struct arena mem;
	int rc;

	arena_init(&mem, MEM_BASE);
	rc = jread(&o, &mem, answer->at, answer->len, "response", err);
	v = rc ? NULL : json_get(o, "id");
	snprintf(id, STORE_NAME, "%.*s", (int)json_bytes(v), json_str(v));
	arena_fini(&mem);
	return rc;
}

static int store_response(struct api_request *r, infer_error *err)
{
	struct server *s = r->server;
	struct kept *k = r->gen.kept;
	char id[STORE_NAME], name[STORE_NAME], oldest[STORE_NAME];
	struct jwrite w;
	struct buf text;
	int rc;

	if (k->answer.bad || k->events.bad)
		return err_nomem(err);
	TRY(read_id(id, &k->answer, err));
	must(name_file(name, id, r->caller.group));
	buf_init(&text, MEM_BASE);
	jw_init(&w, &text);
	jw_object(&w, NULL);
	jw_str(&w, "owner", r->caller.group);
	put_items(&w, "before", &k->before);
	put_items(&w, "input", &k->input);
	jw_raw(&w, "response", k->answer.at, k->answer.len);
	jw_end(&w);
	rc = text.bad ? err_nomem(err) : store_put(&s->store, name, text.at, text.len, err);
	buf_fini(&text);
	TRY(rc);
	TRY(list_new(s, name, oldest));
	if (*oldest)
		(void)store_remove(&s->store, oldest);
	return INFER_OK;
}

/* ---- delivery ---- */

/* Deliver an error after events of the stream. */
static void stream_fault(struct api_request *r, const struct infer_fault *f)
{
	struct buf events;
	infer_writer *w;
	int rc = infer_writer_new(&w, NULL);

	buf_init(&events, MEM_BASE);
	if (!rc)
		rc = infer_api_put_fault_events(w, r->format, f, r->id, &r->gen.stream, NULL);
	if (!rc)
		buf_put(&events, infer_writer_text(w).at, infer_writer_text(w).len);
	events.bad |= rc != INFER_OK;
	r->owner->stream(r, &events, 1);
	infer_writer_free(w);
	buf_fini(&events);
}

void kept_deliver(struct api_request *r)
{
	struct kept *k = r->gen.kept;
	struct infer_fault f = { .kind = INFER_FAULT_SERVER };

	if (store_response(r, &f.error)) {
		if (r->gen.has_begun)
			stream_fault(r, &f);
		else
			api_fault(r, &f);
	} else if (r->gen.streams) {
		r->owner->stream(r, &k->events, 1);
	} else {
		r->owner->answer(r, 200, (struct infer_str){ k->answer.at, k->answer.len });
	}
	api_done(r);
}
