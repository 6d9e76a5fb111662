/* tests/fault/drive.c - every call that may fail fails, one run after the other: N = 1, 2 ... until
 * nothing fails any more.
 *
 *	drive [SCENARIO...]      B: the build (build/release); LONG=1: every N, else a few of each;
 *	                         speaks TAP, then a table
 *
 * A run whose Nth call failed ends in one of these ways, or the case has failed:
 *	same    as if nothing had: the same code and the same output (times aside)
 *	memory  exit 4, one line on standard error, no more than the beginning of the output
 *	i/o     exit 1, likewise
 *	parts   of a batch: exit 7; each record is what it should be, or an error that says
 *	        INFER_ENOMEM
 * What interrupts a call or makes it short may change nothing.  Memory that ends is never called
 * anything else, nor a bad file or a bad request; what a batch has written to its file is completed
 * by the next run. */
#include "fault.h"
#include "outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_ARGS = 24,
	CPU_SECONDS = 20,
	WALL_SECONDS = 120,
	FEW = 4,
	SOME = 40,
	MOST_N = 1000000,
	SHOWN = 3
};

/* NONE: the call may not matter at all. */
enum expect { MEMORY, IO, NONE };
enum { ONCE = 1, ON = 2 };

static const struct way {
	const char *kind;
	enum fault_kind k;
	const char *how;
	enum expect expect;
	int modes;
} ways[] = {
	{ "malloc", FAULT_MALLOC, "ENOMEM", MEMORY, ONCE | ON },
	{ "mmap", FAULT_MMAP, "ENOMEM", MEMORY, ONCE | ON },
	{ "munmap", FAULT_MUNMAP, "ENOMEM", NONE, ON },
	{ "madvise", FAULT_MADVISE, "ENOMEM", NONE, ON },
	{ "thread", FAULT_THREAD, "EAGAIN", NONE, ONCE | ON },
	{ "open", FAULT_OPEN, "EMFILE", IO, ONCE | ON },
	{ "open", FAULT_OPEN, "EIO", IO, ONCE },
	{ "read", FAULT_READ, "EIO", IO, ONCE | ON },
	{ "read", FAULT_READ, "EINTR", NONE, ONCE },
	{ "read", FAULT_READ, "short", NONE, ON },
	{ "write", FAULT_WRITE, "EIO", IO, ONCE | ON },
	{ "write", FAULT_WRITE, "ENOSPC", IO, ON },
	{ "write", FAULT_WRITE, "EINTR", NONE, ONCE },
	{ "write", FAULT_WRITE, "short", NONE, ON },
	{ "say", FAULT_SAY, "EIO", NONE, ON },
	{ "say", FAULT_SAY, "short", NONE, ON },
	{ "stat", FAULT_STAT, "EIO", IO, ONCE | ON },
	{ "sync", FAULT_SYNC, "EIO", IO, ONCE | ON },
	{ "rename", FAULT_RENAME, "EIO", IO, ONCE },
	{ "truncate", FAULT_TRUNCATE, "EIO", IO, ONCE },
	{ "close", FAULT_CLOSE, "EIO", IO, ONCE | ON },
	{ "close", FAULT_CLOSE, "EINTR", IO, ONCE },
	{ "poll", FAULT_POLL, "ENOMEM", MEMORY, ONCE },
	{ "poll", FAULT_POLL, "EINTR", NONE, ONCE },
	{ "lock", FAULT_LOCK, "ENOLCK", IO, ONCE },
};

/* args: words separated by blanks; they name files of the work directory without a path. */
enum {
	OUT_FILE = 1, /* the output is out.jsonl, and there is none before */
	RESUMED = 2,  /* the same command again completes it */
	SLOW = 4,     /* in the long check alone, and there some of each */
};
static const struct scenario {
	const char *name, *args, *in;
	enum outcome_form form;
	unsigned flags;
} scenarios[] = {
	{ "prompt", "infer-run -q -m m.gguf -t 1 --raw --temp 0 -n 4 the of and", NULL,
	  OUTCOME_TEXT, 0 },
	{ "threads", "infer-run -q -m m.gguf -t 3 --raw --temp 0 -n 2 the of and", NULL,
	  OUTCOME_TEXT, 0 },
	{ "chat",
	  "infer-run -q -m chat.gguf -t 1 --json --temp 0 --seed 1 -n 4 --logprobs 1 --messages "
	  "talk.json",
	  NULL, OUTCOME_LINES, 0 },
	{ "tokens", "infer-run -q -m m.gguf -t 1 --raw -o tokens --seed 1 -n 3 -", "text",
	  OUTCOME_LINES, 0 },
	{ "batch", "infer-run -q -m chat.gguf -t 1 --temp 0 --batch -", "ask.jsonl", OUTCOME_LINES,
	  0 },
	{ "resume", "infer-run -q -m chat.gguf -t 1 --temp 0 --batch ask.jsonl --resume out.jsonl",
	  NULL, OUTCOME_LINES, OUT_FILE | RESUMED },
	{ "score", "infer-run -q -m m.gguf -t 1 --score --json -f text", NULL, OUTCOME_LINES, 0 },
	{ "tokenize", "infer-run -q -m m.gguf --tokenize -f text", NULL, OUTCOME_TEXT, 0 },
	{ "render", "infer-run -q -m chat.gguf --render --messages talk.json", NULL, OUTCOME_TEXT,
	  0 },
	{ "show", "infer-inspect show --json -m m.gguf", NULL, OUTCOME_TEXT, 0 },
	{ "tensors", "infer-inspect tensors -m split-00001-of-00002.gguf", NULL, OUTCOME_TEXT, 0 },
	{ "ids", "infer-inspect tokens -m m.gguf --no-stdin -f text", NULL, OUTCOME_TEXT, 0 },
	{ "template", "infer-inspect template -m chat.gguf", NULL, OUTCOME_TEXT, 0 },
	{ "verify", "infer-inspect verify -m m.gguf", NULL, OUTCOME_TEXT, 0 },
	{ "packed", "infer-inspect tensors -m m.gguf.zst", NULL, OUTCOME_TEXT, 0 },
	{ "bench", "infer-bench run -q -m m.gguf -t 1 -p 4 -n 2 --repeat 1 --record out.jsonl",
	  NULL, OUTCOME_SHAPE, OUT_FILE | SLOW },
};

static const char talk[] = "[{\"role\":\"system\",\"content\":\"the "
			   "of\"},{\"role\":\"user\",\"content\":\"the \\u0061nd\"}]\n";
static const char text[] = "the of and take out world home sentence\nlike answer work end\n";
static const char ask[] =
	"{\"id\":\"a\",\"prompt\":\"the of and\",\"raw\":true,\"max_tokens\":3}\n"
	"{\"id\":\"b\",\"messages\":[{\"role\":\"user\",\"content\":\"the "
	"\\u006ff\"}],\"max_tokens\":2,\"logprobs\":1}\n"
	"{\"id\":\"c\",\"prompt\":[5,6,7],\"max_tokens\":2,\"n\":2,\"stop\":[\"zebra\"]}\n"
	"{\"custom_id\":\"d\",\"method\":\"POST\",\"url\":\"/v1/chat/"
	"completions\",\"body\":{\"messages\":[{\"role\":\"user\",\"content\":\"the\"}],"
	"\"max_tokens\":2}}\n"
	"{\"id\":\"e\",\"prompt\":\"the\",\"max_tokens\":2,\"dry_multiplier\":0.5,\"dry_sequence_"
	"breakers\":[\"of\"]}\n";

static char bin[4096], lib[4096], dir[] = "/tmp/fault.XXXXXX";
static struct fault_report *report;
static int is_long;
static unsigned cases, bad_cases;

/* ---- one run */

static pid_t running;
static volatile sig_atomic_t late;

static void on_alarm(int sig)
{
	(void)sig;
	late = 1;
	kill(running, SIGKILL);
}

static void redirect(int fd, const char *path, int flags)
{
	int f = open(path, flags, 0600);

	if (f < 0 || dup2(f, fd) < 0)
		_exit(FAULT_EXIT);
}

static void child(const struct scenario *s, const char *spec)
{
	struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	char words[512], path[8192], fault[64], *argv[MOST_ARGS] = { 0 }, *rest;
	char preload[8192], home[] = "HOME=.", where[] = "FAULT_REPORT=report";
	char *env[] = { preload, fault, where, home, NULL };
	int n = 0;

	snprintf(words, sizeof words, "%s", s->args);
	for (char *w = strtok_r(words, " ", &rest); w && n < MOST_ARGS - 1;
	     w = strtok_r(NULL, " ", &rest))
		argv[n++] = w;
	snprintf(path, sizeof path, "%s/%s", bin, argv[0]);
	snprintf(preload, sizeof preload, "LD_PRELOAD=%s", lib);
	snprintf(fault, sizeof fault, spec ? "FAULT=%s" : "NO_FAULT=", spec);
	setrlimit(RLIMIT_CPU, &cpu);
	redirect(0, s->in ? s->in : "/dev/null", O_RDONLY);
	redirect(1, "stdout", O_WRONLY | O_CREAT | O_TRUNC);
	redirect(2, "stderr", O_WRONLY | O_CREAT | O_TRUNC);
	execve(path, argv, env);
	_exit(FAULT_EXIT);
}

static void run(struct outcome *o, const struct scenario *s, const char *spec)
{
	int status;

	late = 0;
	fflush(stdout);
	running = fork();
	if (running < 0)
		outcome_die("fork");
	if (!running)
		child(s, spec);
	alarm(WALL_SECONDS);
	while (waitpid(running, &status, 0) < 0)
		if (errno != EINTR)
			outcome_die("waitpid");
	alarm(0);
	*o = (struct outcome){
		.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
		.late = late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU),
		.form = s->form,
		.err = outcome_take_file("stderr", 0),
		.out = outcome_take_file(s->flags & OUT_FILE ? "out.jsonl" : "stdout", 0),
	};
	if (o->code == FAULT_EXIT)
		outcome_die("the fault library could not work");
	outcome_plain(o);
}

/* ---- what comes out of it */

static const char *const class_names[OUTCOMES] = { "same", "memory", "i/o", "parts", "BAD" };
struct tally {
	uint64_t calls, tried, of[OUTCOMES];
};

/* NULL, or what is wrong. */
static const char *judge(const struct outcome *o, const struct outcome *want, const struct way *w,
                         enum outcome_class *class)
{
	const char *why = outcome_class(o, want, w->k == FAULT_SAY, class);

	if (why)
		return why;
	if (*class == OUTCOME_MEMORY && w->expect != MEMORY)
		return "memory, which there was";
	if (*class == OUTCOME_PARTS && w->expect != MEMORY)
		return "some requests failed, and it was not for memory";
	if (*class == OUTCOME_IO && w->expect == MEMORY)
		return "exit 1, where memory ended";
	if (*class != OUTCOME_SAME && w->expect == NONE)
		return "a failure that should not matter";
	return NULL;
}

/* What a failed run left in its file is completed by the next. */
static const char *complete(const struct scenario *s, const struct outcome *want)
{
	struct outcome o;
	enum outcome_class class;

	run(&o, s, NULL);
	const char *why = outcome_class(&o, want, 0, &class);

	if (!why && class != OUTCOME_SAME && class != OUTCOME_PARTS)
		why = "the run after it does not complete the file";
	outcome_fini(&o);
	return why;
}

/* One run with the Nth call failing.  Returns whether there was an Nth. */
static int try(const struct scenario *s, const struct way *w, const struct outcome *want,
               uint64_t n, int on, struct tally *t, int *shown)
{
	char spec[64];
	struct outcome o;
	enum outcome_class class = OUTCOME_BAD;

	snprintf(spec, sizeof spec, "%s:%s:%llu%s", w->kind, w->how, (unsigned long long)n,
	         on ? "+" : "");
	unlink("out.jsonl");
	run(&o, s, spec);
	int met = report->failed > 0;

	t->tried += (uint64_t)met;
	const char *why = judge(&o, want, w, &class);

	if (!why && s->flags & RESUMED && class != OUTCOME_SAME)
		why = complete(s, want);
	if (!why && !met && class != OUTCOME_SAME)
		why = "nothing failed, and it is not as it was";
	t->of[why ? OUTCOME_BAD : class] += (uint64_t)(met || why);
	if (why && (*shown)++ < SHOWN)
		printf("# %s, FAULT=%s: %s\n#   code %d, stderr: %.300s\n", s->name, spec, why,
		       o.code, o.err.n ? o.err.at : "(empty)\n");
	outcome_fini(&o);
	return met;
}

static void show(const char *what, const struct scenario *s, const struct way *w, const char *mode,
                 const struct tally *t)
{
	printf("%s%-9s %-8s %-7s %-5s %7llu %7llu", what, s->name, w->kind, w->how, mode,
	       (unsigned long long)t->calls, (unsigned long long)t->tried);
	for (int c = 0; c < OUTCOMES; c++)
		printf(" %7llu", (unsigned long long)t->of[c]);
	printf("\n");
}

/* A way to fail, in one scenario that makes `calls` such calls. */
static void fail_each(const struct scenario *s, const struct way *w, const struct outcome *want,
                      uint64_t calls)
{
	for (int on = 0; on < 2; on++) {
		struct tally t = { .calls = calls };
		uint64_t few = is_long ? s->flags & SLOW ? SOME : MOST_N : FEW,
			 step = calls <= few ? 1 : calls / few;
		int shown = 0;

		if (!(w->modes & (on ? ON : ONCE)))
			continue;
		for (uint64_t n = (step + 1) / 2; n < MOST_N && t.tried < few; n += step)
			if (!try(s, w, want, n, on, &t, &shown))
				break;
		int bad = t.of[OUTCOME_BAD] || !t.tried;

		cases++;
		bad_cases += bad;
		printf("%s %u - %s, %s %s %s\n", bad ? "not ok" : "ok", cases, s->name, w->kind,
		       w->how, on ? "from there on" : "once");
		show("# ", s, w, on ? "on" : "once", &t);
	}
}

static void scenario(const struct scenario *s)
{
	struct fault_report base;
	struct outcome want;

	unlink("out.jsonl");
	run(&want, s, NULL);
	base = *report;
	if (want.code || !want.out.n) {
		printf("not ok %u - %s, undisturbed: code %d\n# %s\n", ++cases, s->name, want.code,
		       want.err.at ? want.err.at : "");
		bad_cases++;
		return;
	}
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (base.calls[ways[i].k])
			fail_each(s, &ways[i], &want, base.calls[ways[i].k]);
	outcome_fini(&want);
}

static void make_models(void)
{
	char command[3 * sizeof bin];

	snprintf(command, sizeof command,
	         "m='%s/tests/tools/mkmodel --vocab 700 --layers 1' && $m m.gguf && $m --chat "
	         "chat.gguf && "
	         "$m --split 2 split && '%s/tests/tools/zst' m.gguf m.gguf.zst",
	         bin, bin);
	if (system(command))
		outcome_die("mkmodel");
}

int main(int argc, char **argv)
{
	const char *b = getenv("B"), *more = getenv("LONG");
	int fd;

	is_long = more && *more == '1';
	if (!realpath(b ? b : "build/release", bin))
		outcome_die("the build");
	snprintf(lib, sizeof lib, "%.4000s/tests/fault/fault.so", bin);
	if (access(lib, R_OK) || !mkdtemp(dir) || chdir(dir))
		outcome_die(lib);
	signal(SIGALRM, on_alarm);
	outcome_put_file("talk.json", talk, sizeof talk - 1);
	outcome_put_file("text", text, sizeof text - 1);
	outcome_put_file("ask.jsonl", ask, sizeof ask - 1);
	make_models();
	outcome_put_file("report", &(struct fault_report){ .failed = 0 }, sizeof *report);
	fd = open("report", O_RDWR);
	report = fd < 0 ? MAP_FAILED
	                : mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (report == MAP_FAILED)
		outcome_die("report");
	printf("#         %-9s %-8s %-7s %-5s %7s %7s", "scenario", "kind", "how", "mode", "calls",
	       "tried");
	for (int c = 0; c < OUTCOMES; c++)
		printf(" %7s", class_names[c]);
	printf("\n");
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
		int wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], scenarios[i].name);
		if (wanted && (is_long || argc > 1 || !(scenarios[i].flags & SLOW)))
			scenario(&scenarios[i]);
	}
	printf("1..%u\n", cases);
	char command[sizeof dir + 8];

	snprintf(command, sizeof command, "rm -r %s", dir);
	return chdir("/") || system(command) || bad_cases;
}
