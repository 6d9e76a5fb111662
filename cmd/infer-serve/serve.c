/* infer-serve/serve.c - the server from its start to its end: model, threads, signals. */
#include "infer-serve/serve.h"
#include "infer-serve/batch/batches.h"
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/conns.h"
#include "infer-serve/ops/harden.h"
#include "infer-serve/http/http.h"
#include "infer-serve/http/listen.h"
#include "infer-serve/http/origin.h"
#include "infer-serve/ops/otlp.h"
#include "infer-serve/ops/server.h"
#include "infer-serve/ops/stepper.h"
#include "infer-serve/http/tls.h"
#include "common/env.h"
#include "common/progress.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* TICK_NS: interval of deadline checks. FLUSH_NS: time for sending the ends of answers that were cut
 * short. */
#define TICK_NS INT64_C(100000000)
#define SECOND INT64_C(1000000000)
#define FLUSH_NS SECOND

/* ---- signals ---- */

static int signal_pipe[2] = { -1, -1 };

static void on_signal(int sig)
{
	int kept = errno;
	char c = (char)sig;

	if (write(signal_pipe[1], &c, 1) < 0) {
		/* the pipe is full: earlier signals wake the reader */
	}
	errno = kept;
}

static int catch_signals(infer_error *err)
{
	static const int caught[] = { SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK))
		return err_set(err, INFER_EIO, "no pipe: %s", strerror(errno));
	sigemptyset(&a.sa_mask);
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		sigaction(caught[i], &a, NULL);
	/* writing to a closed connection must not end the process */
	signal(SIGPIPE, SIG_IGN);
	return INFER_OK;
}

/* Wait for a signal, and meanwhile end the requests of clients that leave. Returns the signal, or 0 after
 * TICK_NS. */
static int next_signal(struct server *s)
{
	struct pollfd p[] = { { .fd = signal_pipe[0], .events = POLLIN },
		              { .fd = http_watched(s), .events = POLLIN } };
	int64_t now = clock_now_ns(), until = now + TICK_NS, next;
	char c;

	for (; now < until; now = clock_now_ns()) {
		pthread_mutex_lock(&s->lock);
		next = s->find_gone ? s->find_gone(s, now) : INT64_MAX;
		pthread_mutex_unlock(&s->lock);
		next = next < until ? next : until;
		if (poll(p, 2, (int)((next - now) / 1000000) + 1) > 0 && p[0].revents &&
		    read(signal_pipe[0], &c, 1) == 1)
			return c;
	}
	return 0;
}

/* ---- opening ---- */

/* Open the model of a server without --config. */
static int open_single(struct server *s, infer_error *err)
{
	struct served *m = served_new(s, s->o);

	if (!m)
		return err_set(err, INFER_ENOMEM, "out of memory for the server");
	s->models = m;
	TRY(served_open(m, NULL, err));
	m->state = SERVED_LOADED;
	return INFER_OK;
}

/* Open the socket of --listen, or use the one from systemd (LISTEN_FDS). */
static int open_listener(struct listener *l, const char *listen, infer_error *err)
{
	int n = env_listen_fds();

	if (n > 1)
		return err_set(err, INFER_EINVAL, "LISTEN_FDS is %d: infer-serve takes one socket",
		               n);
	return n ? listen_take(l, STDERR_FILENO + 1, err) : listen_open(l, listen, err);
}

/* Change http:// in the URL to https:// if TLS is used. */
static void name_scheme(struct listener *l, const struct serve_opts *o)
{
	size_t n = strlen(l->url);

	if (!o->tls_cert || strncmp(l->url, "http://", 7) || n + 1 >= sizeof l->url)
		return;
	memmove(l->url + 5, l->url + 4, n - 4 + 1);
	l->url[4] = 's';
}

/* With --config, refuse GPU options: models are opened in the sandbox, which forbids calls of the GPU's
 * driver. */
static int check_device(const struct serve_opts *o, infer_error *err)
{
	struct infer_engine_opts eo;

	if (!o->config)
		return INFER_OK;
	TRY(engine_args_take(&eo, &o->engine, err));
	return engine_keep_cpu(&eo, "--config", err);
}

static int check_proxies(const struct serve_opts *o, infer_error *err)
{
	uint8_t address[CONN_ADDRESS];

	for (int i = 0; i < o->trusted_proxies.n; i++)
		if (!conns_address(address, o->trusted_proxies.at[i]))
			return err_set(err, INFER_EINVAL,
			               "--trusted-proxy must be an IPv4 or IPv6 address, not %.80s",
			               o->trusted_proxies.at[i]);
	return INFER_OK;
}

/* Parts of the server that only this file and their own modules use. */
struct parts {
	struct listener listener;
	struct tls tls;
	struct origin origin;
	struct batches batches;
	pthread_t work[WORKERS], step, load;
	int n_work, has_step, has_load;
};

static int open_server(struct server *s, struct parts *p, infer_error *err)
{
	struct listener *l = &p->listener;
	const struct serve_opts *o = s->o;

	TRY(check_device(o, err));
	TRY(check_proxies(o, err));
	if (o->config && ((o->model && !env_name(o->model)) || o->alias))
		return err_set(err, INFER_EINVAL,
		               "--config names the models: %s does not go with it",
		               o->alias ? "--alias" : "--model");
	if (o->log_requests && *o->log_requests && strcmp(o->log_requests, "content"))
		return err_set(err, INFER_EINVAL, "--log-requests=%.40s: only 'content' is known",
		               o->log_requests);
	if (o->max_lora_rank && !o->lora_dir)
		return err_set(err, INFER_EINVAL, "--max-lora-rank goes with --lora-dir only");
	if (o->log_requests && !o->access_log)
		return err_set(err, INFER_EINVAL, "--log-requests needs --access-log");
	sip_draw(&s->secret);
	TRY(otlp_open(s, err));
	if (o->api_key_file)
		TRY(keys_read(&s->keys, o->api_key_file, err));
	TRY(tls_read(&p->tls, o, err));
	TRY(access_open(s, err));
	if (o->files_dir)
		TRY(store_open(&s->store, o->files_dir, err));
	if (o->files_dir)
		TRY(kept_open(s, err));
	TRY(infer_writer_new(&s->writer, err));
	TRY(o->config ? served_configure(s, err) : open_single(s, err));
	TRY(open_listener(l, o->listen, err));
	name_scheme(l, o);
	TRY(origin_open(&p->origin, &o->server_names, l, err));
	sig_unfinished(l->path);
	return catch_signals(err);
}

static void close_server(struct server *s, struct parts *p)
{
	for (struct served *m = s->models, *next; m; m = next) {
		next = m->next;
		served_free(m);
	}
	infer_writer_free(s->writer);
	buf_fini(&s->scratch);
	sig_mapped(NULL);
	keys_fini(&s->keys);
	tls_fini(&p->tls);
	for (struct fair_user *u = s->users, *next; u; u = next) {
		next = u->next;
		mem_free(u);
	}
	batches_close(s);
	otlp_close(s);
	kept_close(s);
	store_close(&s->store);
	access_close(s);
}

/* ---- running ---- */

static void reload_files(struct server *s)
{
	struct keys fresh;
	infer_error err;

	access_reopen(s);
	if (s->o->config && served_configure(s, &err))
		say_warning("the models stay as they were: %s", err.message);
	if (!s->o->api_key_file)
		return;
	if (keys_read(&fresh, s->o->api_key_file, &err)) {
		say_warning("the API keys stay as they were: %s", err.message);
		return;
	}
	pthread_mutex_lock(&s->lock);
	struct keys old = s->keys;

	s->keys = fresh;
	pthread_mutex_unlock(&s->lock);
	keys_fini(&old);
}

static int64_t active_requests(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	int64_t n = s->n_active;

	pthread_mutex_unlock(&s->lock);
	return n;
}

/* Accept no more connections, and wait up to --drain seconds for requests to end. At most
 * FLUSH_NS of that is for sending the ends of answers that are cut short. */
static void drain_requests(struct server *s, struct listener *l)
{
	const int64_t all = s->o->drain * SECOND, begin = clock_now_ns();
	int64_t flush = all ? all / 2 : FLUSH_NS, until;

	if (flush > FLUSH_NS)
		flush = FLUSH_NS;
	until = begin + (all > flush ? all - flush : 0);
	s->draining = 1;
	http_quiesce(s);
	batches_stop(s);
	listen_remove(l);
	sig_unfinished(NULL);
	while (active_requests(s) && clock_now_ns() < until) {
		http_check(s, clock_now_ns());
		if (next_signal(s) == SIGTERM) /* a second SIGTERM: end now */
			break;
	}
	if (!active_requests(s))
		return;
	pthread_mutex_lock(&s->lock);
	s->cut = 1;
	pthread_cond_signal(&s->engine_wake);
	pthread_mutex_unlock(&s->lock);
	until = clock_now_ns() + flush;
	http_check(s, clock_now_ns());
	while (active_requests(s) && clock_now_ns() < until)
		(void)next_signal(s);
}

/* True if there was no request for --idle seconds. */
static int is_idle(struct server *s)
{
	int64_t now = clock_now_ns();
	int idle;

	if (!s->o->idle)
		return 0;
	pthread_mutex_lock(&s->lock);
	idle = !s->n_active && now - s->ended_ns > s->o->idle * SECOND;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

static void run_until_signal(struct server *s, struct listener *l)
{
	for (;;) {
		int sig = next_signal(s);

		if (sig == SIGTERM || is_idle(s))
			break;
		if (sig == SIGHUP)
			reload_files(s);
		http_check(s, clock_now_ns());
		access_flush(s);
		served_unload_idle(s);
	}
	drain_requests(s, l);
}

static void announce(const struct server *s, const struct listener *l)
{
	if (!l->local && !s->keys.n)
		say_warning("%s can be reached from other machines, and --api-key-file is not "
		            "given: everybody may use it",
		            l->url);
	say_note(1, "%s: serving %s", s->models->name, l->url);
}

static int start_threads(struct parts *p, struct server *s, infer_error *err)
{
	for (; p->n_work < WORKERS; p->n_work++)
		if (pthread_create(&p->work[p->n_work], NULL, work_thread, s))
			return err_set(err, INFER_ENOMEM, "the system starts no thread");
	s->steps = 1;
	p->has_load = !pthread_create(&p->load, NULL, loader_thread, s);
	p->has_step = p->has_load && !pthread_create(&p->step, NULL, stepper_thread, s);
	return p->has_step ? INFER_OK : err_set(err, INFER_ENOMEM, "the system starts no thread");
}

static void end_threads(struct parts *p, struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = STOP_WORK;
	pthread_cond_broadcast(&s->work.some);
	pthread_cond_broadcast(&s->load.some);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (p->has_load)
		pthread_join(p->load, NULL);
	for (int i = 0; i < p->n_work; i++)
		pthread_join(p->work[i], NULL);
	/* workers and loader have ended: the engine's thread gets no more jobs */
	pthread_mutex_lock(&s->lock);
	s->stop = STOP_ALL;
	pthread_cond_signal(&s->engine_wake);
	pthread_mutex_unlock(&s->lock);
	if (p->has_step)
		pthread_join(p->step, NULL);
}

static void init_server(struct server *s)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->access.lock, NULL);
	buf_init(&s->access.pending, MEM_BASE);
	pthread_cond_init(&s->work.some, NULL);
	pthread_cond_init(&s->load.some, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_cond_init(&s->engine_wake, NULL);
	pthread_cond_init(&s->batches->wake, NULL);
	buf_init(&s->scratch, MEM_BASE);
	buf_init(&s->folders, MEM_BASE);
}

/* Restrict the process, start its threads, and print the URL. */
static int start_serving(struct server *s, struct parts *p, infer_error *err)
{
	const struct http_setup setup = { p->listener.fd, &p->tls, &p->origin, &endpoint_table };
	const struct listener *l = &p->listener;

	TRY(harden_files(s, err));
	TRY(harden_removals(s, l->path, err));
	TRY(start_threads(p, s, err));
	if (s->o->files_dir)
		TRY(batches_open(s, err));
	TRY(http_open(s, &setup, err));
	harden(s);
	announce(s, l);
	TRY(say_out(l->url, strlen(l->url), err));
	return say_out("\n", 1, err);
}

int serve(const struct serve_opts *o, const struct opt *rows)
{
	struct parts p = { .listener = { .fd = -1 } };
	struct server s = { .o = o,
		            .rows = rows,
		            .access = { .fd = -1 },
		            .otlp_fd = -1,
		            .store = { .dir = -1, .lock = -1 },
		            .batches = &p.batches,
		            .started = (int64_t)time(NULL) };
	infer_error err = { 0 };

	init_server(&s);
	int rc = open_server(&s, &p, &err);

	progress_end();
	s.ended_ns = clock_now_ns();
	if (!rc)
		rc = start_serving(&s, &p, &err);
	if (!rc)
		run_until_signal(&s, &p.listener);
	batches_stop(&s);
	http_close(&s);
	end_threads(&p, &s);
	listen_remove(&p.listener);
	close_server(&s, &p);
	buf_fini(&s.folders);
	return rc ? say_fail(&err) : EXIT_DONE;
}
