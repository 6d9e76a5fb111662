/* infer-serve/ops/loading.c - find the model of a request, load models, and unload idle ones. */
#include "infer-serve/ops/server.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

#define SECOND INT64_C(1000000000)
enum { RETRY_S = 5 };

/* ---- finding ---- */

/* Set *name to the model name that r gives, in mem; NULL: none. Returns 0 if r was answered with an
 * error. */
static int read_name(struct api_request *r, const struct model_query *q, struct arena *mem,
                     const char **name, size_t *n)
{
	const struct json *body, *v;
	infer_error err;
	int rc;

	*name = q->name;
	*n = *name ? strlen(*name) : 0;
	if (!q->body)
		return 1;
	rc = jread(&body, mem, q->body->at ? q->body->at : "", q->body->len, "request", &err);
	if (rc) {
		api_refuse(r, rc == INFER_ENOMEM ? INFER_FAULT_SERVER : INFER_FAULT_INVALID, NULL,
		           "%s", err.message);
		return 0;
	}
	v = json_get(body, "model");
	/* a "model" that is not a string is refused when the request is read */
	if (!json_is_string(v))
		return 1;
	*name = v->s;
	*n = v->n;
	return 1;
}

static struct served *default_model(struct server *s)
{
	struct served *m = s->models;

	while (m && m->retired)
		m = m->next;
	return m;
}

/* Return why the API key of r may not use m (enum infer_fault_kind), or INFER_FAULT_NONE. */
static int key_fault(const struct api_request *r, const struct served *m)
{
	const struct keys *k = m->keys.n ? &m->keys : &r->server->keys;

	if (!k->n || keys_have(k, r->caller.key))
		return INFER_FAULT_NONE;
	return *r->caller.key ? INFER_FAULT_FORBIDDEN : INFER_FAULT_KEY;
}

/* Return the entry of m->users for a user of the server, added if missing; NULL: no memory. */
static struct fair_user *find_or_add_user(struct served *m, const struct fair_user *of)
{
	struct fair_user *u = m->users;

	while (u && u->id != of->id)
		u = u->next;
	if (!u && (u = mem_zalloc(MEM_BASE, 1, sizeof *u))) {
		u->id = of->id;
		u->next = m->users;
		m->users = u;
	}
	if (u) {
		u->weight = of->weight;
		u->priority = of->priority;
	}
	return u;
}

/* With --config: true if m has admitted `most` requests (running and waiting), and the user of r
 * has at least an equal share of them. */
static int is_queue_full(const struct api_request *r, const struct served *m, int64_t most)
{
	int64_t users = 1;

	if (!r->server->o->config || !r->is_admitted || m->n_admitted < most)
		return 0;
	for (const struct fair_user *u = m->users; u; u = u->next)
		users += u != r->gen.turn.user && u->admitted;
	return r->gen.turn.user->admitted >= most / users;
}

/* Set r->model, or *f if r is refused.  Caller holds the lock. */
static void assign_model(struct api_request *r, struct served *m, struct infer_fault *f)
{
	int64_t most = m->o.parallel + m->o.max_queue;

	f->kind = key_fault(r, m);
	f->error.code = INFER_EINVAL;
	if (f->kind) {
		err_set(&f->error, INFER_EINVAL,
		        f->kind == INFER_FAULT_KEY ? "the model '%.120s' needs an API key"
		                                   : "this key may not use the model '%.120s'",
		        m->name);
		return;
	}
	r->gen.turn.user = find_or_add_user(m, r->caller.user);
	if (!r->gen.turn.user) {
		f->kind = INFER_FAULT_SERVER;
		err_set(&f->error, INFER_ENOMEM, "out of memory for a request");
		return;
	}
	if (is_queue_full(r, m, most)) {
		f->kind = INFER_FAULT_BUSY;
		r->retry_s = RETRY_S;
		err_set(&f->error, INFER_EINVAL,
		        "%lld requests for '%.120s' run or wait: try again later", (long long)most,
		        m->name);
		return;
	}
	r->gen.turn.user->admitted += r->is_admitted;
	r->model = m;
	m->refs++;
	m->n_admitted += r->is_admitted;
}

/* the tag that Ollama's clients append to a name without one */
static const char tag[] = ":latest";
enum { TAG_LEN = sizeof tag - 1 };

/* Find the model of r.  Returns 0 if r was answered with an error. */
static int choose_model(struct api_request *r, const struct model_query *q)
{
	struct server *s = r->server;
	struct infer_fault f = { .param = "model" };
	const char *name = NULL;
	struct served *m;
	struct arena mem;
	size_t n = 0;
	int ok;

	arena_init(&mem, MEM_BASE);
	ok = !s->o->config || read_name(r, q, &mem, &name, &n);
	if (ok) {
		pthread_mutex_lock(&s->lock);
		m = name ? served_by_name(s, name, n) : default_model(s);
		if (!m && r->style == STYLE_OLLAMA && n > TAG_LEN &&
		    !memcmp(name + n - TAG_LEN, tag, TAG_LEN))
			m = served_by_name(s, name, n - TAG_LEN);
		if (!m && q->by_file && name)
			m = served_by_file(s, name, n);
		if (m)
			assign_model(r, m, &f);
		pthread_mutex_unlock(&s->lock);
		if (!m) {
			f.kind = INFER_FAULT_MODEL;
			err_set(&f.error, INFER_EINVAL, "there is no model '%.*s'",
			        n < 120 ? (int)n : 120, name ? name : "");
		}
		ok = !f.kind;
		if (f.kind)
			api_fault(r, &f);
	}
	arena_fini(&mem);
	return ok;
}

int served_find(struct api_request *r, const struct model_query *q)
{
	struct server *s = r->server;
	int in, stop;

	if (!r->model && !choose_model(r, q)) {
		api_done(r);
		return 0;
	}
	pthread_mutex_lock(&s->lock);
	in = r->model->state == SERVED_LOADED;
	stop = s->stop;
	if (!in && !stop)
		work_add(&s->load, r);
	pthread_mutex_unlock(&s->lock);
	if (!in && stop) {
		api_refuse(r, INFER_FAULT_UNAVAILABLE, NULL, "the server is shutting down");
		api_done(r);
	}
	return in;
}

/* ---- loading ---- */

/* Let the thread that steps engines unload m; save the counters of its engine. Caller holds the lock. */
static void start_unloading(struct served *m)
{
	struct infer_engine_stats e = { 0 };

	if (m->engine)
		infer_engine_stats(m->engine, &e);
	metrics_engine_add(&m->engines, &e);
	m->state = SERVED_UNLOADING;
	pthread_cond_signal(&m->server->engine_wake);
}

/* Bytes used by all models but m.  Sets *idle to the least recently used idle model, *leaving if
 * one is being unloaded.  Caller holds the lock. */
static uint64_t sum_memory(struct server *s, const struct served *m, struct served **idle,
                           int *leaving)
{
	uint64_t sum = 0;

	*idle = NULL;
	*leaving = 0;
	for (struct served *k = s->models; k; k = k->next) {
		if (k == m)
			continue;
		sum += k->bytes;
		*leaving |= k->state == SERVED_UNLOADING;
		if (k->state == SERVED_LOADED && !k->refs &&
		    (!*idle || k->ended_ns < (*idle)->ended_ns))
			*idle = k;
	}
	return sum;
}

/* Unload idle models until `bytes` fit into the memory limit, and set m->bytes.
 * INFER_EAGAIN  models in use leave too little; INFER_ENOMEM instead while the server starts */
static int make_room(struct served *m, uint64_t bytes, infer_error *err)
{
	struct server *s = m->server;
	struct served *idle;
	int leaving, rc = INFER_OK;

	pthread_mutex_lock(&s->lock);
	while (sum_memory(s, m, &idle, &leaving) + bytes > s->memory) {
		if (s->stop || (!leaving && !idle) || !s->steps) {
			rc = err_set(err, s->steps ? INFER_EAGAIN : INFER_ENOMEM,
			             "%s needs %.0f MiB, and models that are in use leave less",
			             m->name, (double)bytes / (1 << 20));
			break;
		}
		if (!leaving)
			start_unloading(idle);
		pthread_cond_wait(&s->changed, &s->lock);
	}
	if (!rc)
		m->bytes = bytes;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Load m, whose state is SERVED_LOADING. */
static int load_model(struct served *m, infer_error *err)
{
	struct server *s = m->server;
	int64_t from = clock_now_ns();
	int rc = served_open(m, make_room, err);

	pthread_mutex_lock(&s->lock);
	m->state = rc ? SERVED_UNLOADED : SERVED_LOADED;
	m->bytes = rc ? 0 : m->bytes;
	m->ended_ns = clock_now_ns();
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		say_note(1, "%s: loaded in %.0f ms, %.1f MiB", m->name,
		         clock_ms(from, clock_now_ns()), (double)m->bytes / (1 << 20));
	return rc;
}

int served_start(struct server *s, infer_error *err)
{
	struct served *m;
	int rc = INFER_OK;

	do {
		pthread_mutex_lock(&s->lock);
		m = s->models;
		while (m && (!m->loads_at_start || m->retired || m->state != SERVED_UNLOADED))
			m = m->next;
		if (m) {
			m->loads_at_start = 0;
			m->state = SERVED_LOADING;
		}
		pthread_mutex_unlock(&s->lock);
		rc = m ? load_model(m, err) : INFER_OK;
	} while (m && !rc);
	return rc;
}

/* Load the model of r and return r to the workers, or answer why loading failed. */
static void load_for_request(struct api_request *r)
{
	struct server *s = r->server;
	struct served *m = r->model;
	struct infer_fault f = { .kind = INFER_FAULT_NONE };
	infer_error err;
	int mine, rc = INFER_OK;

	pthread_mutex_lock(&s->lock);
	while (m->state == SERVED_UNLOADING || m->state == SERVED_LOADING)
		pthread_cond_wait(&s->changed, &s->lock);
	mine = m->state == SERVED_UNLOADED;
	if (mine)
		m->state = SERVED_LOADING;
	pthread_mutex_unlock(&s->lock);
	if (mine)
		rc = load_model(m, &err);
	if (!rc) {
		pthread_mutex_lock(&s->lock);
		work_add(&s->work, r);
		pthread_mutex_unlock(&s->lock);
		return;
	}
	if (rc != INFER_EAGAIN)
		say_warning("%s cannot be loaded: %s", m->name, err.message);
	f.kind = rc == INFER_EAGAIN ? INFER_FAULT_UNAVAILABLE : INFER_FAULT_SERVER;
	r->retry_s = RETRY_S;
	err_set(&f.error, rc, "the model cannot be loaded: %.200s", err.message);
	api_fault(r, &f);
	api_done(r);
}

void *loader_thread(void *server)
{
	struct server *s = server;
	struct api_request *r;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		r = work_take(s, &s->load);
		pthread_mutex_unlock(&s->lock);
		if (!r)
			return NULL;
		if (r->continues)
			r->continues(r);
		else
			load_for_request(r);
	}
}

void loader_put(struct api_request *r)
{
	struct server *s = r->server;
	int stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop;
	if (!stop)
		work_add(&s->load, r);
	pthread_mutex_unlock(&s->lock);
	if (!stop)
		return;
	api_refuse(r, INFER_FAULT_UNAVAILABLE, NULL, "the server is shutting down");
	api_done(r);
}

/* ---- unloading ---- */

void served_unload_idle(struct server *s)
{
	int64_t now = clock_now_ns();

	if (!s->o->config)
		return;
	pthread_mutex_lock(&s->lock);
	for (struct served *m = s->models; m; m = m->next) {
		int is_in = m->state == SERVED_LOADED;

		if (m->refs || (!is_in && m->state != SERVED_UNLOADED))
			continue;
		if (m->retired || (is_in && m->failed) ||
		    (is_in && m->unload_s && now - m->ended_ns > m->unload_s * SECOND))
			start_unloading(m);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Remove an unloaded model from the list if the configuration does not have it.  Returns 1 if
 * removed; the caller frees it.  Caller holds the lock. */
static int remove_retired(struct server *s, struct served *m)
{
	struct served **at = &s->models;

	if (!m->retired || m->refs)
		return 0;
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	return 1;
}

static struct served *find_leaving(struct server *s)
{
	struct served *m;

	pthread_mutex_lock(&s->lock);
	for (m = s->models; m && m->state != SERVED_UNLOADING;)
		m = m->next;
	pthread_mutex_unlock(&s->lock);
	return m;
}

void served_unload(struct server *s)
{
	struct served *m;

	while ((m = find_leaving(s))) {
		if (m->engine)
			say_note(1, "%s: unloaded", m->name);
		/* other threads do not use a model in this state */
		served_close(m);
		pthread_mutex_lock(&s->lock);
		m->samples = 0;
		m->bytes = 0;
		m->state = SERVED_UNLOADED;
		int gone = remove_retired(s, m);

		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		if (gone)
			served_free(m);
	}
}
