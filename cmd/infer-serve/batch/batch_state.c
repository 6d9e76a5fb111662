/* infer-serve/batch/batch_state.c - the state of a batch: kept in memory, printed as JSON, stored
 * on disk. */
#include "infer-serve/batch/batches.h"
#include "infer-serve/ops/server.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name, *at;
} rows[] = {
	[BATCH_VALIDATING] = { "validating", NULL },
	[BATCH_FAILED] = { "failed", "failed_at" },
	[BATCH_IN_PROGRESS] = { "in_progress", "in_progress_at" },
	[BATCH_FINALIZING] = { "finalizing", "finalizing_at" },
	[BATCH_COMPLETED] = { "completed", "completed_at" },
	[BATCH_EXPIRED] = { "expired", "expired_at" },
	[BATCH_CANCELLING] = { "cancelling", "cancelling_at" },
	[BATCH_CANCELLED] = { "cancelled", "cancelled_at" },
};

void batch_set(struct batch *b, enum batch_status status)
{
	b->status = status;
	if (!b->at[status])
		b->at[status] = (int64_t)time(NULL);
}

int batch_is_over(const struct batch *b)
{
	return b->status == BATCH_FAILED || b->status == BATCH_COMPLETED ||
	       b->status == BATCH_EXPIRED || b->status == BATCH_CANCELLED;
}

struct batch *batch_find(struct server *s, const char *id, const char *owner)
{
	struct batch *b = s->batches->first;

	while (b && (strcmp(b->id, id) || (owner && strcmp(b->owner, owner))))
		b = b->next;
	return b;
}

static void put_time(struct jwrite *w, const char *key, int64_t at)
{
	if (at)
		jw_int(w, key, at);
	else
		jw_null(w, key);
}

static void put_file_id(struct jwrite *w, const char *key, const char *name)
{
	jw_str(w, key, *name ? name : NULL);
}

/* Append the batch object. owned: 1 to add owner and key, which are only stored on disk. */
static void put_batch(struct buf *to, const struct batch *b, int owned)
{
	struct jwrite w;

	jw_init(&w, to);
	jw_object(&w, NULL);
	if (owned && *b->owner) {
		jw_str(&w, "owner", b->owner);
		jw_str(&w, "key", b->key);
	}
	jw_str(&w, "id", b->id);
	jw_str(&w, "object", "batch");
	jw_str(&w, "endpoint", b->endpoint);
	if (b->faults)
		jw_raw(&w, "errors", b->faults, strlen(b->faults));
	else
		jw_null(&w, "errors");
	jw_str(&w, "input_file_id", b->input);
	jw_str(&w, "completion_window", "24h");
	jw_str(&w, "status", rows[b->status].name);
	put_file_id(&w, "output_file_id", b->output);
	put_file_id(&w, "error_file_id", b->errors);
	jw_int(&w, "created_at", b->created);
	jw_int(&w, "expires_at", b->created + BATCH_DAY_S);
	for (int i = 0; i < BATCH_STATUSES; i++)
		if (rows[i].at)
			put_time(&w, rows[i].at, b->at[i]);
	jw_object(&w, "request_counts");
	jw_int(&w, "total", b->total);
	jw_int(&w, "completed", b->completed);
	jw_int(&w, "failed", b->failed);
	jw_end(&w);
	if (b->metadata)
		jw_raw(&w, "metadata", b->metadata, strlen(b->metadata));
	else
		jw_null(&w, "metadata");
	jw_end(&w);
}

void batch_put(struct buf *to, const struct batch *b) { put_batch(to, b, 0); }

int batch_save(struct server *s, const struct batch *b, infer_error *err)
{
	char name[STORE_NAME + 8];
	struct buf text;
	int rc;

	buf_init(&text, MEM_BASE);
	pthread_mutex_lock(&s->lock);
	put_batch(&text, b, 1);
	pthread_mutex_unlock(&s->lock);
	snprintf(name, sizeof name, "%s", b->id);
	rc = text.bad ? err_set(err, INFER_ENOMEM, "out of memory for %s", name)
	              : store_put(&s->store, name, text.at, text.len, err);
	buf_fini(&text);
	return rc;
}

/* ---- reading ---- */

static void copy_name(char *to, size_t room, const struct json *v)
{
	if (json_is_string(v) && v->n < room)
		snprintf(to, room, "%.*s", (int)v->n, v->s);
}

static char *copy_json(const struct json *v)
{
	struct jwrite w;
	struct buf b;
	char *text;

	if (!v || json_is_null(v))
		return NULL;
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	jw_value(&w, NULL, v);
	text = b.bad ? NULL : mem_strndup(MEM_BASE, b.at, b.len);
	buf_fini(&b);
	return text;
}

static int read_batch(struct batch *b, const struct json *o, const char *what, infer_error *err)
{
	const struct json *counts = json_get(o, "request_counts");
	int known = 0;

	copy_name(b->owner, sizeof b->owner, json_get(o, "owner"));
	/* earlier versions stored the name of the key as the owner, and no key */
	copy_name(b->key, sizeof b->key, json_get(o, json_get(o, "key") ? "key" : "owner"));
	copy_name(b->endpoint, sizeof b->endpoint, json_get(o, "endpoint"));
	copy_name(b->input, sizeof b->input, json_get(o, "input_file_id"));
	copy_name(b->output, sizeof b->output, json_get(o, "output_file_id"));
	copy_name(b->errors, sizeof b->errors, json_get(o, "error_file_id"));
	for (int i = 0; i < BATCH_STATUSES; i++) {
		if (json_equals(json_get(o, "status"), rows[i].name)) {
			b->status = (enum batch_status)i;
			known = 1;
		}
		if (rows[i].at)
			TRY(jread_i64(o, rows[i].at, &b->at[i], 0, INT64_MAX, what, err));
	}
	TRY(jread_i64(o, "created_at", &b->created, 0, INT64_MAX / 2, what, err));
	if (!known || !json_is_object(counts) || !store_is_name(b->input, "file-"))
		return err_set(err, INFER_EFORMAT, "%s: is not a batch", what);
	TRY(jread_i64(counts, "total", &b->total, 0, INT64_MAX, what, err));
	TRY(jread_i64(counts, "completed", &b->completed, 0, INT64_MAX, what, err));
	TRY(jread_i64(counts, "failed", &b->failed, 0, INT64_MAX, what, err));
	b->metadata = copy_json(json_get(o, "metadata"));
	b->faults = copy_json(json_get(o, "errors"));
	return INFER_OK;
}

int batch_load(struct batch **out, struct server *s, const char *id, infer_error *err)
{
	struct batch *b = mem_zalloc(MEM_BASE, 1, sizeof *b);
	const struct json *o;
	struct arena mem;
	struct buf text;
	int rc;

	*out = NULL;
	if (!b)
		return err_set(err, INFER_ENOMEM, "out of memory for a batch");
	arena_init(&mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	snprintf(b->id, sizeof b->id, "%s", id);
	rc = store_get(&s->store, id, &text, err);
	if (!rc)
		rc = jread(&o, &mem, text.at ? text.at : "", text.len, id, err);
	if (!rc)
		rc = read_batch(b, o, id, err);
	buf_fini(&text);
	arena_fini(&mem);
	if (rc)
		batch_free(b);
	else
		*out = b;
	return rc;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	mem_free(b->metadata);
	mem_free(b->faults);
	mem_free(b);
}
