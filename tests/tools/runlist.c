/* tests/tools/runlist.c - run a program on every file that mkhostile wrote, and hold it to the
 * list.
 *
 *	runlist DIR COLUMN[/N+K[/M]] MOST_MIB MOST_MS PROGRAM ARGUMENT...   {} in an argument: the file
 *
 * COLUMN: 1 show, 2 tokenize, 3 run; with /N+K on those files alone
 * whose number leaves K when divided by N, and of the files that not every program refuses on every
 * Mth (on each, without /M).  A line for each file on which
 * the program ends by a signal, with another exit code than the list says, with more than MOST_MIB
 * resident, after more than MOST_MS of processor time, or (code 3) without one line on stderr that
 * names the file.  Exit code 1 where there is any. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS = 64 };

struct result {
	int status;
	long mib;
	double ms;
	char said[1024];
};

_Noreturn static void child(char **argv, const char *path, int to)
{
	static char place[ARGS][16384];
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; argv[i] && i < ARGS; i++) {
		const char *at = strstr(argv[i], "{}");
		if (at) {
			snprintf(place[i], sizeof place[i], "%.*s%s%s", (int)(at - argv[i]),
			         argv[i], path, at + 2);
			argv[i] = place[i];
		}
	}
	dup2(null, 0);
	dup2(null, 1);
	dup2(to, 2);
	execv(argv[0], argv);
	_exit(126);
}

static void run(char **argv, const char *path, struct result *r)
{
	struct rusage u;
	int fd[2];
	size_t n = 0;
	ssize_t k;

	if (pipe(fd)) {
		perror("pipe");
		exit(2);
	}
	pid_t pid = fork();
	if (pid == 0)
		child(argv, path, fd[1]);
	close(fd[1]);
	while (pid > 0 && (k = read(fd[0], r->said + n, sizeof r->said - 1 - n)) > 0)
		n += (size_t)k;
	r->said[n] = '\0';
	close(fd[0]);
	if (pid < 0 || wait4(pid, &r->status, 0, &u) < 0) {
		perror("fork");
		exit(2);
	}
	r->mib = u.ru_maxrss / 1024;
	r->ms = 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	        1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* What is wrong with a result, or NULL. */
static const char *judge(const struct result *r, char want, const char *file, long most_mib,
                         double most_ms)
{
	static char why[1200];
	int code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
	const char *newline = strchr(r->said, '\n');
	char named[256];

	/* of a split model another file than the one asked for may be the bad one */
	snprintf(named, sizeof named, "%.*s",
	         (int)(strstr(file, "-of-") ? strlen(file) - strlen("-00001-of-00001.gguf")
	                                    : strlen(file)),
	         file);

	if (WIFSIGNALED(r->status))
		snprintf(why, sizeof why, "ends by signal %d", WTERMSIG(r->status));
	else if (want == '-' ? code != 0 && code != 3 : code != want - '0')
		snprintf(why, sizeof why, "exit code %d, not %c: %s", code, want, r->said);
	else if (r->mib > most_mib)
		snprintf(why, sizeof why, "%ld MiB", r->mib);
	else if (r->ms > most_ms)
		snprintf(why, sizeof why, "%.0f ms", r->ms);
	else if (code == 3 && (!newline || newline[1] || !strstr(r->said, named)))
		snprintf(why, sizeof why, "says \"%s\"", r->said);
	else
		return NULL;
	return why;
}

int main(int argc, char **argv)
{
	char path[8192], file[256], want[4];
	int n = 0, bad = 0, column = 0, every = 1, from = 0, other = 1, line = 0;

	if (argc <= 5 || sscanf(argv[2], "%d/%d+%d/%d", &column, &every, &from, &other) < 1 ||
	    column < 1 || column > 3 || every < 1 || other < 1) {
		fprintf(stderr, "usage: runlist DIR COLUMN[/N+K[/M]] MOST_MIB MOST_MS PROGRAM "
		                "ARGUMENT...\n");
		return 2;
	}
	snprintf(path, sizeof path, "%s/list", argv[1]);
	FILE *list = fopen(path, "r");
	while (list && fscanf(list, "%255s %c %c %c", file, want, want + 1, want + 2) == 4) {
		struct result r;
		int refused = want[0] == '3' && want[1] == '3' && want[2] == '3';
		int number = line++;
		if (refused ? number % every != from : number % other)
			continue;
		snprintf(path, sizeof path, "%s/%s", argv[1], file);
		run(argv + 5, path, &r);
		const char *why = judge(&r, want[column - 1], file, atol(argv[3]), atof(argv[4]));
		if (why)
			printf("%s: %s\n", file, why);
		bad += why != NULL;
		n++;
	}
	printf("%d files, %d wrong\n", n, bad);
	return n == 0 || bad;
}
