/* job/adapters.c - a set of adapters with names. */
#include <infer/adapters.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct infer_adapters {
	pthread_mutex_t *lock; /* allocated, so that it can be taken through a const set */
	struct infer_adapter
		*at; /* [n] of [room], in the order of ids; owns names and references */
	size_t n, room;
	int64_t next_id;
};

int infer_adapters_new(infer_adapters **out, infer_error *err)
{
	infer_adapters *s = mem_zalloc(MEM_JOB, 1, sizeof *s);
	int rc;

	*out = NULL;
	if (s)
		s->lock = mem_zalloc(MEM_JOB, 1, sizeof *s->lock);
	if (!s || !s->lock) {
		mem_free(s);
		return err_nomem(err);
	}
	rc = pthread_mutex_init(s->lock, NULL);
	if (rc) {
		mem_free(s->lock);
		mem_free(s);
		return err_errno(err, rc, "cannot make a lock");
	}
	*out = s;
	return INFER_OK;
}

/* Free a name and drop its reference. */
static void free_entry(struct infer_adapter *a)
{
	mem_free((void *)(uintptr_t)a->name);
	infer_lora_close(&a->lora);
}

void infer_adapters_free(infer_adapters *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free_entry(&s->at[i]);
	mem_free(s->at);
	pthread_mutex_destroy(s->lock);
	mem_free(s->lock);
	mem_free(s);
}

/* Return the adapter with this name of n bytes; NULL: none.  Caller holds the lock. */
static struct infer_adapter *find_adapter_name(const infer_adapters *s, const char *name, size_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (strlen(s->at[i].name) == n && !memcmp(s->at[i].name, name, n))
			return &s->at[i];
	return NULL;
}

/* ---- names ---- */

/* Set *at and *n to the name in the adapter's file, or to the name of the file. */
static void own_name(const infer_lora *lora, const char **at, size_t *n)
{
	struct infer_lora_info info;
	const char *base, *dot, *end;

	infer_lora_info(lora, &info);
	*at = info.name.at;
	*n = info.name.len;
	if (*n && *n <= INFER_ADAPTER_NAME && !memchr(*at, 0, *n) && utf8_check(*at, *n) == *n)
		return;
	end = info.path + strlen(info.path);
	while (end > info.path + 1 && end[-1] == '/')
		end--;
	for (base = end; base > info.path && base[-1] != '/';)
		base--;
	for (dot = end; dot > base && *dot != '.';)
		dot--;
	*at = base;
	*n = (size_t)((dot > base ? dot : end) - base);
	if (!*n || *n > INFER_ADAPTER_NAME || utf8_check(*at, *n) != *n) {
		*at = "adapter";
		*n = strlen(*at);
	}
}

/* Return a copy of the adapter's own name that no other has; NULL: no memory. */
static char *make_name(const infer_adapters *s, const infer_lora *lora)
{
	enum { NUMBER = 24 };
	const char *at;
	size_t n, len;
	char *name;

	own_name(lora, &at, &n);
	name = mem_alloc(MEM_JOB, n + NUMBER, 1);
	if (!name)
		return NULL;
	memcpy(name, at, n);
	name[n] = 0;
	len = n;
	for (size_t i = 2; find_adapter_name(s, name, len); i++)
		len = n + (size_t)snprintf(name + n, NUMBER, "-%zu", i);
	return name;
}

static int check_adapter_name(const infer_adapters *s, const char *name, infer_error *err)
{
	size_t n = strlen(name);

	if (!n || n > INFER_ADAPTER_NAME || utf8_check(name, n) != n)
		return err_set(err, INFER_EINVAL,
		               "the name of an adapter must be 1 to %d bytes of UTF-8",
		               INFER_ADAPTER_NAME);
	return find_adapter_name(s, name, n)
	               ? err_set(err, INFER_EINVAL, "an adapter is called '%.120s' already", name)
	               : INFER_OK;
}

/* ---- changing ---- */

static size_t count_applied(const infer_adapters *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->at[i].applied != 0;
	return n;
}

static int too_many(infer_error *err)
{
	return err_set(err, INFER_EINVAL, "at most %d adapters can be applied to one request",
	               INFER_LORA_USES);
}

static int reserve_entry(infer_adapters *s, infer_error *err)
{
	size_t room = s->room ? 2 * s->room : 8;
	struct infer_adapter *at;

	if (s->n == INFER_ADAPTERS_MOST)
		return err_set(err, INFER_EINVAL, "there are %d adapters: no more are possible",
		               INFER_ADAPTERS_MOST);
	if (s->n < s->room)
		return INFER_OK;
	at = mem_realloc(MEM_JOB, s->at, room, sizeof *at);
	if (!at)
		return err_nomem(err);
	s->at = at;
	s->room = room;
	return INFER_OK;
}

/* Add *a.  Caller holds the lock. */
static int insert_adapter(infer_adapters *s, const struct infer_adapter *a, infer_error *err)
{
	char *name;

	if (!isfinite(a->scale) || !isfinite(a->applied))
		return err_set(err, INFER_EINVAL, "the scale of an adapter must be finite");
	if (a->applied != 0 && count_applied(s) == INFER_LORA_USES)
		return too_many(err);
	if (a->name)
		TRY(check_adapter_name(s, a->name, err));
	TRY(reserve_entry(s, err));
	name = a->name ? mem_strndup(MEM_JOB, a->name, strlen(a->name)) : make_name(s, a->lora);
	if (!name)
		return err_nomem(err);
	s->at[s->n] = *a;
	s->at[s->n].name = name;
	s->at[s->n].id = s->next_id++;
	infer_lora_ref(a->lora);
	s->n++;
	return INFER_OK;
}

int infer_adapters_add(infer_adapters *s, const struct infer_adapter *a, infer_error *err)
{
	pthread_mutex_lock(s->lock);
	int rc = insert_adapter(s, a, err);

	pthread_mutex_unlock(s->lock);
	return rc;
}

int infer_adapters_remove(infer_adapters *s, const char *name, size_t n, infer_error *err)
{
	struct infer_adapter gone = { .name = NULL }, *a;

	pthread_mutex_lock(s->lock);
	a = find_adapter_name(s, name, n);
	if (a) {
		gone = *a;
		memmove(a, a + 1, (size_t)(s->at + s->n - (a + 1)) * sizeof *a);
		s->n--;
	}
	pthread_mutex_unlock(s->lock);
	if (!gone.name)
		return err_set(err, INFER_EINVAL, "there is no adapter '%.*s'",
		               n < 120 ? (int)n : 120, name);
	free_entry(&gone);
	return INFER_OK;
}

/* Check the arguments of infer_adapters_apply.  Caller holds the lock. */
static int check_scales(const infer_adapters *s, const int64_t *id, const float *scale, size_t n,
                        infer_error *err)
{
	size_t applied = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < s->n && s->at[at].id != id[i])
			at++;
		if (at == s->n)
			return err_set(err, INFER_EINVAL, "there is no adapter with id %lld",
			               (long long)id[i]);
		for (size_t k = 0; k < i; k++)
			if (id[k] == id[i])
				return err_set(err, INFER_EINVAL, "adapter %lld is given twice",
				               (long long)id[i]);
		if (!isfinite(scale[i]))
			return err_set(err, INFER_EINVAL,
			               "the scale of adapter %lld must be finite",
			               (long long)id[i]);
		applied += scale[i] != 0;
	}
	return applied > INFER_LORA_USES ? too_many(err) : INFER_OK;
}

int infer_adapters_apply(infer_adapters *s, const int64_t *id, const float *scale, size_t n,
                         infer_error *err)
{
	pthread_mutex_lock(s->lock);
	int rc = check_scales(s, id, scale, n, err);

	for (size_t i = 0; !rc && i < s->n; i++) {
		s->at[i].applied = 0;
		for (size_t k = 0; k < n; k++)
			if (id[k] == s->at[i].id)
				s->at[i].applied = scale[k];
	}
	pthread_mutex_unlock(s->lock);
	return rc;
}

/* ---- reading ---- */

/* Copy the entries and their names into one block.  Caller holds the lock. */
static struct infer_adapter *copy_entries(const infer_adapters *s)
{
	struct infer_adapter *list;
	size_t bytes = 0;
	char *names;

	for (size_t i = 0; i < s->n; i++)
		bytes += strlen(s->at[i].name) + 1;
	list = mem_alloc(MEM_JOB, s->n * sizeof *list + bytes, 1);
	if (!list)
		return NULL;
	names = (char *)(list + s->n);
	for (size_t i = 0; i < s->n; i++) {
		size_t n = strlen(s->at[i].name) + 1;

		list[i] = s->at[i];
		list[i].name = memcpy(names, s->at[i].name, n);
		infer_lora_ref(list[i].lora);
		names += n;
	}
	return list;
}

int infer_adapters_copy(struct infer_adapter **list, size_t *n, const infer_adapters *s,
                        infer_error *err)
{
	int rc = INFER_OK;

	*list = NULL;
	*n = 0;
	if (!s)
		return INFER_OK;
	pthread_mutex_lock(s->lock);
	if (s->n) {
		*list = copy_entries(s);
		*n = *list ? s->n : 0;
		rc = *list ? INFER_OK : err_nomem(err);
	}
	pthread_mutex_unlock(s->lock);
	return rc;
}

void infer_adapters_release(struct infer_adapter *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		infer_lora_close(&list[i].lora);
	mem_free(list);
}

int infer_adapters_have(const infer_adapters *s, const char *name, size_t n)
{
	if (!s)
		return 0;
	pthread_mutex_lock(s->lock);
	const int has = find_adapter_name(s, name, n) != NULL;

	pthread_mutex_unlock(s->lock);
	return has;
}

int32_t infer_adapters_rank(const infer_adapters *s)
{
	int32_t most[INFER_LORA_USES + 1] = { 0 }, sum = 0; /* descending; the last is spare */
	struct infer_lora_info info;

	if (!s)
		return 0;
	pthread_mutex_lock(s->lock);
	for (size_t i = 0; i < s->n; i++) {
		int at = INFER_LORA_USES;

		infer_lora_info(s->at[i].lora, &info);
		for (; at && most[at - 1] < info.max_rank; at--)
			most[at] = most[at - 1];
		most[at] = info.max_rank;
	}
	pthread_mutex_unlock(s->lock);
	for (int i = 0; i < INFER_LORA_USES; i++)
		sum += most[i];
	return sum;
}
