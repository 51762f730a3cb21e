// Process 1 of the guest, and the only one besides the command. It loads modules, mounts the host's root file system
// under a temporary overlay, runs the command, and returns its output and status.
//
// Reasons for a static C program instead of a shell script:
// - Under software emulation every fork and exec takes milliseconds.
// - It must read all of the command's output, but must not wait for a daemon that still holds the pipe.
//
// The kernel passes the words after "--" on its command line as arguments: the software NIC's parameters.
// Everything else passes through a small 9p share, which is mounted at CONTROL:
//   argv, env, cwd     in: NUL-terminated words; a path
//   hot                in: files that programs open often, NUL-terminated
//   shell, out, merge  in: exist if a terminal is wanted, if /out is shared, if stderr goes to stdout
//   modules            in: exists if another share has the kernel's modules, not the host
//   started            out: created just before the command starts; its time stamp is the host's clock
//   stdout, stderr     out: the command's output; 9p writes are synchronous, so power-off loses nothing
//   status             out: the exit status in decimal, written last
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CONTROL "/.rdmanet-harness"
#define P9_OPTIONS "trans=virtio,version=9p2000.L,msize=1048576"

enum { STDOUT, STDERR, STREAMS };

struct stream {
	int pipe; // read end of the command's output, -1 after its end
	int file; // file that the host reads
};

static char **nic_parameters;

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	// QEMU runs with -no-reboot. A reset ends it faster than a request to ACPI.
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

// Prints the reason to the console. Without a status file the host reports that the guest died, and shows the end
// of the console.
static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	const int saved = errno;
	FILE *log = fopen("/dev/kmsg", "w");
	if (log) {
		va_list args;
		va_start(args, format);
		fputs("<2>harness: ", log);
		vfprintf(log, format, args);
		fprintf(log, ": %s\n", strerror(saved));
		va_end(args);
		fclose(log);
	}
	power_off();
}

static void mount_at(const char *type, const char *source, const char *target, unsigned long flags, const char *data)
{
	if (mkdir(target, 0755) && errno != EEXIST)
		die("mkdir %s", target);
	if (mount(source, target, type, flags, data))
		die("mount %s at %s", type, target);
}

static char *read_file(const char *path, size_t *length)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t used = 0;
	ssize_t n;
	if (fd < 0)
		die("open %s", path);
	do {
		text = realloc(text, used + 65536 + 1);
		if (!text)
			die("read %s", path);
		n = read(fd, text + used, 65536);
		if (n < 0)
			die("read %s", path);
		used += (size_t)n;
	} while (n > 0);
	close(fd);
	text[used] = '\0';
	if (length)
		*length = used;
	return text;
}

static char **read_words(const char *path)
{
	size_t length, count = 0;
	char *text = read_file(path, &length);
	char **list = calloc(length + 1, sizeof(*list));
	if (!list)
		die("read %s", path);
	for (char *at = text; at < text + length; at += strlen(at) + 1)
		list[count++] = at;
	return list;
}

static void load_module(const char *name, const char *parameters)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "/modules/%s", name);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("open %s", path);
	if (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST)
		die("load %s %s", name, parameters);
	close(fd);
}

static void load_modules(const char *list_path)
{
	char *state = NULL;
	char *list = read_file(list_path, NULL);
	for (char *name = strtok_r(list, "\n", &state); name; name = strtok_r(NULL, "\n", &state))
		load_module(name, "");
	free(list);
}

static void *load_rdma(void *unused)
{
	char parameters[2048] = "";
	(void)unused;
	load_modules("/modules/rdma");
	for (char **word = nic_parameters; *word; word++) {
		strncat(parameters, *word, sizeof(parameters) - strlen(parameters) - 1);
		strncat(parameters, " ", sizeof(parameters) - strlen(parameters) - 1);
	}
	load_module("simrnic.ko", parameters);
	return NULL;
}

static void mount_root(void)
{
	mount_at("9p", "hostroot", "/ro", MS_RDONLY, P9_OPTIONS ",cache=loose");
	mount_at("tmpfs", "rw", "/rw", 0, "mode=0755");
	if (mkdir("/rw/upper", 0755) || mkdir("/rw/work", 0755))
		die("mkdir /rw");
	mount_at("overlay", "overlay", "/root", 0, "lowerdir=/ro,upperdir=/rw/upper,workdir=/rw/work");
}

// The mount point is in the root directory, not in /run or /tmp, because tests mount over those.
static void mount_control(void)
{
	mount_at("9p", "control", "/root" CONTROL, 0, P9_OPTIONS ",cache=none");
}

static void enter_root(void)
{
	static const char *const moved[] = {"/proc", "/sys", "/dev"};
	char target[32];
	for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); i++) {
		snprintf(target, sizeof(target), "/root%s", moved[i]);
		mkdir(target, 0755);
		if (mount(moved[i], target, NULL, MS_MOVE, NULL))
			die("move %s", moved[i]);
	}
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		die("enter the root file system");
	// systemd and container runtimes make all mounts shared, and `ip netns add` expects that.
	if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL))
		die("share mounts");
}

// The overlay copies a file into memory when it is opened for writing.
static void copy_up_hot_files(void)
{
	for (char **file = read_words(CONTROL "/hot"); *file; file++)
		close(open(*file, O_WRONLY | O_CLOEXEC));
}

static void mount_rest(void)
{
	mount_at("tmpfs", "run", "/run", MS_NOSUID | MS_NODEV, "mode=0755");
	// /tmp stays the overlay's, because a checkout may be in it.
	mount_at("tmpfs", "shm", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_at("devpts", "devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "mode=0620,gid=5,ptmxmode=0666");
	mount_at("cgroup2", "cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("debugfs", "debugfs", "/sys/kernel/debug", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mkdir("/run/netns", 0755);
	mkdir("/run/lock", 01777);
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
	if (!access(CONTROL "/modules", F_OK))
		mount_at("9p", "modules", "/lib/modules", MS_RDONLY, P9_OPTIONS ",cache=loose");
	if (!access(CONTROL "/out", F_OK))
		mount_at("9p", "out", "/out", 0, P9_OPTIONS ",cache=mmap");
}

static void loopback_up(void)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		die("bring up lo");
	close(fd);
}

static void __attribute__((noreturn)) execute(char **argv, char **env, const char *cwd)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	environ = env;
	if (chdir(cwd))
		fprintf(stderr, "harness: %s: %s; starting in /\n", cwd, strerror(errno));
	execvp(argv[0], argv);
	fprintf(stderr, "harness: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int open_output(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		die("open %s", path);
	return fd;
}

// The command's stdout and stderr are pipes, not the share's files: a test that opens /dev/stderr for writing would
// truncate a file.
static pid_t start(char **argv, char **env, const char *cwd, struct stream streams[STREAMS])
{
	const bool merge = !access(CONTROL "/merge", F_OK);
	int out[2], err[2];
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("pipe");
	close(open_output(CONTROL "/started"));
	const pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		setsid();
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(merge ? out[1] : err[1], STDERR_FILENO);
		execute(argv, env, cwd);
	}
	close(out[1]);
	close(err[1]);
	streams[STDOUT] = (struct stream){out[0], open_output(CONTROL "/stdout")};
	streams[STDERR] = (struct stream){err[0], open_output(CONTROL "/stderr")};
	return child;
}

static pid_t start_shell(char **argv, char **env, const char *cwd)
{
	const pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		setsid();
		const int tty = open("/dev/ttyS1", O_RDWR);
		if (tty < 0 || ioctl(tty, TIOCSCTTY, 0))
			die("terminal");
		dup2(tty, STDIN_FILENO);
		dup2(tty, STDOUT_FILENO);
		dup2(tty, STDERR_FILENO);
		execute(argv, env, cwd);
	}
	return child;
}

static void write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		const ssize_t n = write(fd, data, length);
		if (n < 0)
			die("write output");
		data += n;
		length -= (size_t)n;
	}
}

static void forward(struct stream *stream)
{
	static char buffer[65536];
	const ssize_t n = read(stream->pipe, buffer, sizeof(buffer));
	if (n > 0) {
		write_all(stream->file, buffer, (size_t)n);
	} else if (n == 0 || errno != EAGAIN) {
		close(stream->pipe);
		stream->pipe = -1;
	}
}

// Reads what the pipe has now. A daemon may keep the pipe open for ever, or keep writing. The command itself can
// have left at most what one pipe holds.
static void drain(struct stream *stream)
{
	int left = 0;
	if (stream->pipe < 0)
		return;
	fcntl(stream->pipe, F_SETFL, O_NONBLOCK);
	ioctl(stream->pipe, FIONREAD, &left);
	while (left > 0 && stream->pipe >= 0) {
		forward(stream);
		left -= 65536;
	}
}

// Reaps orphans, as process 1 must. True when the command itself has ended.
static bool reap(pid_t command, int *status)
{
	int wait_status;
	pid_t pid;
	bool ended = false;
	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
		ended = true;
	}
	return ended;
}

static int supervise(pid_t command, int signals, struct stream streams[STREAMS])
{
	int status = 0;
	bool ended = false;
	while (!ended) {
		struct pollfd fds[STREAMS + 1] = {{.fd = streams[STDOUT].pipe, .events = POLLIN},
						  {.fd = streams[STDERR].pipe, .events = POLLIN},
						  {.fd = signals, .events = POLLIN}};
		if (poll(fds, STREAMS + 1, -1) < 0)
			die("poll");
		for (int i = 0; i < STREAMS; i++)
			if (fds[i].revents)
				forward(&streams[i]);
		if (fds[STREAMS].revents) {
			struct signalfd_siginfo info;
			if (read(signals, &info, sizeof(info)) < 0)
				die("read signals");
			ended = reap(command, &status);
		}
	}
	for (int i = 0; i < STREAMS; i++)
		drain(&streams[i]);
	return status;
}

static void report(int status)
{
	char text[16];
	const int length = snprintf(text, sizeof(text), "%d\n", status);
	write_all(open_output(CONTROL "/status"), text, (size_t)length);
}

int main(int argc, char **argv)
{
	struct stream streams[STREAMS] = {{-1, -1}, {-1, -1}};
	pthread_t rdma;
	sigset_t mask;
	(void)argc;
	nic_parameters = argv + 1;

	mount_at("proc", "proc", "/proc", 0, NULL);
	mount_at("sysfs", "sysfs", "/sys", 0, NULL);
	mount_at("devtmpfs", "dev", "/dev", 0, NULL);

	// The RDMA stack takes half of the start-up time, so the second processor loads it during the mounts.
	if (pthread_create(&rdma, NULL, load_rdma, NULL))
		die("thread");
	load_modules("/modules/files");
	mount_root();
	mount_control();
	if (pthread_join(rdma, NULL))
		die("thread");
	enter_root();
	copy_up_hot_files();
	mount_rest();
	loopback_up();
	if (sethostname("rdmanet-guest", strlen("rdmanet-guest")))
		die("host name");

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	const int signals = signalfd(-1, &mask, SFD_CLOEXEC);
	if (signals < 0)
		die("signalfd");

	char **words = read_words(CONTROL "/argv");
	char **env = read_words(CONTROL "/env");
	const char *cwd = read_file(CONTROL "/cwd", NULL);
	const bool shell = !access(CONTROL "/shell", F_OK);
	const pid_t command = shell ? start_shell(words, env, cwd) : start(words, env, cwd, streams);
	report(supervise(command, signals, streams));
	power_off();
}
