//! What is tried. A script prints OUT where it got somewhere that nothing outside tells of.
//!
//! In scripts, `$T` is the stage, `$V` the neighbour's process and the other names are what it told;
//! `sys` does a system call and succeeds if that did, `N_…` are numbers of calls.

use super::Promise;

/// One thing to try.
#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) promise: Promise,
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// What a later session then does, in the same checkout and home.
    pub(crate) later: Option<&'static str>,
    /// Whether the kernel lets only root do it, sandbox or not.
    pub(crate) is_for_root: bool,
    /// Why it may not work here even where nothing holds it.
    pub(crate) absent: Option<&'static str>,
}

impl Attempt {
    const fn of_root(mut self) -> Self {
        self.is_for_root = true;
        self
    }

    const fn absent(mut self, reason: &'static str) -> Self {
        self.absent = Some(reason);
        self
    }

    const fn later(mut self, script: &'static str) -> Self {
        self.later = Some(script);
        self
    }
}

const fn attempt(promise: Promise, name: &'static str, script: &'static str) -> Attempt {
    Attempt { promise, name, script, later: None, is_for_root: false, absent: None }
}

/// All of them, by kind.
pub(crate) fn all() -> impl Iterator<Item = &'static Attempt> {
    [
        WRITES,
        ODD_WRITES,
        METADATA,
        READS,
        STATE,
        SOCKETS,
        NETWORK,
        SHARED,
        SIGNALS,
        MEMORY,
        PROCESSES,
        CALLS,
        MACHINE,
        CACHES,
        LEFT_BEHIND,
    ]
    .into_iter()
    .flatten()
}

use Promise::{
    AbstractSockets, Caches, Calls, Datagrams, Machine, Memory, Metadata, Outside, Processes,
    Reading, Sharing, Sight, Signals, Sockets, State, Tcp,
};

const WRITES: &[Attempt] = &[
    attempt(Outside, "a new file", "echo x > $T/house/out"),
    attempt(Outside, "a file that is appended to", "echo x >> $T/house/note"),
    attempt(Outside, "a file that is emptied", ": > $T/repo/file"),
    attempt(Outside, "a file that is cut", "truncate -s 1 $T/house/note"),
    attempt(Outside, "a file that is removed", "rm -f $T/house/note"),
    attempt(Outside, "a directory that is removed", "rm -rf $T/repo/.spore"),
    attempt(Outside, "a new directory", "mkdir $T/house/out"),
    attempt(Outside, "a new pipe", "mkfifo $T/house/out"),
    attempt(Outside, "a new symbolic link", "ln -s x $T/repo/out"),
    attempt(Outside, "a new node", "mknod $T/house/out p"),
    attempt(
        Outside,
        "a new socket",
        r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un("$ENV{T}/house/out"))'"#,
    ),
    attempt(Outside, "a directory through a link", "ln -sfn $T/house link; echo x > link/out"),
    attempt(Outside, "a file through a link", "ln -sf $T/house/note f; echo x > f"),
    attempt(Outside, "a file renamed out", "mv own $T/house/out"),
    attempt(Outside, "a file renamed over another", "mv -f own $T/house/note"),
    attempt(Outside, "a directory renamed in", "mv $T/house inside"),
    attempt(Outside, "the project renamed away", "mv $T/repo $T/tmp/elsewhere"),
    attempt(Outside, "the checkout renamed away", "mv $T/checkout $T/house/checkout"),
    attempt(Outside, "a hard link out", "ln own $T/house/out"),
    attempt(Outside, "a hard link in", "ln $T/house/note linked && echo x > linked"),
    attempt(
        Outside,
        "a hard link to a link's end",
        "ln -s $T/house/note s; ln -L s linked && echo x > linked",
    ),
    attempt(
        Outside,
        "two files that change places",
        "sys $N_RENAMEAT2 -100 $PWD/own -100 $T/house/note 2",
    ),
    attempt(
        Outside,
        "two directories that change places",
        "mkdir d; sys $N_RENAMEAT2 -100 $PWD/d -100 $T/house 2",
    ),
    attempt(
        Outside,
        "a file without a name that is given one",
        // O_TMPFILE | O_RDWR, then AT_SYMLINK_FOLLOW.
        r#"perl -e '$f = syscall($ENV{N_OPENAT}+0, -100, "$ENV{T}/house", 0x410002, 0600); syscall($ENV{N_LINKAT}+0, -100, "/proc/self/fd/$f", -100, "$ENV{T}/house/out", 0x400)'"#,
    ),
    attempt(
        Outside,
        "a file without a name made inside and named outside",
        r#"perl -e '$n = "."; $f = syscall($ENV{N_OPENAT}+0, -100, $n, 0x410002, 0600); syscall($ENV{N_LINKAT}+0, -100, "/proc/self/fd/$f", -100, "$ENV{T}/house/out", 0x400)'"#,
    ),
    attempt(
        Outside,
        "a daemon that writes later",
        "(setsid sh -c 'sleep 0.05; echo x > $T/house/out' </dev/null >/dev/null 2>&1 &) ; sleep 0.15",
    ),
    attempt(
        Outside,
        "a daemon that lost its parents and its directory",
        "(cd /; setsid nohup sh -c 'echo x > $T/repo/out' & ) ; sleep 0.1",
    ),
    attempt(
        Outside,
        "a hook of the user's git",
        "mkdir -p $T/repo/.git/hooks; echo x > $T/repo/.git/hooks/out",
    ),
    attempt(Outside, "the user's git, by git", "git init -q $T/repo"),
    attempt(
        Outside,
        "a path with steps up",
        "cd sub 2>/dev/null; echo x > ../house/out; echo x > ../../house/out",
    ),
    attempt(Outside, "a copy with every attribute", "cp -a own $T/house/out"),
    attempt(Outside, "an archive that is unpacked", "tar -cf a.tar own; tar -xf a.tar -C $T/house"),
];

const ODD_WRITES: &[Attempt] = &[
    attempt(Outside, "the root's door in /proc", "echo x > /proc/self/root$T/house/out"),
    attempt(Outside, "the directory's door in /proc", "echo x > /proc/self/cwd/../house/out"),
    attempt(Outside, "the first process's door", "echo x > /proc/1/root$T/house/out; echo x > /proc/1/cwd/../house/out").of_root().absent("a container may not let root at the first process"),
    attempt(Outside, "the shim's door", "echo x > /proc/$PPID/root$T/house/out; echo x > /proc/$PPID/cwd/../house/out"),
    attempt(Outside, "a neighbour's directory", "echo x > /proc/$V/cwd/out"),
    attempt(Outside, "a neighbour's root", "echo x > /proc/$V/root$T/house/out"),
    attempt(Outside, "a neighbour's open file", "echo x >> /proc/$V/fd/$NOTE_FD"),
    attempt(
        Outside,
        "a neighbour's descriptor, taken",
        "exec 3>&-; perl -e '$p = syscall($ENV{N_PIDFD_OPEN}+0, $ENV{V}+0, 0); $f = syscall($ENV{N_PIDFD_GETFD}+0, $p, $ENV{NOTE_FD}+0, 0); open(F, \">&=\", $f) && syswrite(F, \"OUT\")'",
    ),
    attempt(Outside, "any process's directory", "touch of-$V; for p in /proc/[0-9]*; do test -e $p/cwd/../checkout/of-$V && echo x > $p/cwd/../house/out; done"),
    attempt(Outside, "any process's root", "for p in /proc/[0-9]*; do echo x > $p/root$T/house/out; done"),
    attempt(
        Outside,
        "a file mapped into memory",
        "python3 -c 'import mmap,os; f = open(os.environ[\"T\"] + \"/house/note\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[0] = 88; m.flush()'",
    ),
    attempt(
        Outside,
        "a file opened to read and opened again to write",
        r#"perl -e 'open(F, "<", "$ENV{T}/house/note"); open(G, "+<", "/proc/self/fd/" . fileno F) && syswrite(G, "X")'"#,
    ),
    attempt(
        Outside,
        "a file that is only named, then opened",
        // O_PATH.
        r#"perl -e '$f = syscall($ENV{N_OPENAT}+0, -100, "$ENV{T}/house/note", 0x200000, 0); open(G, "+<", "/proc/self/fd/$f") && syswrite(G, "X")'"#,
    ),
    attempt(
        Outside,
        "a file by its handle, without a path",
        r#"perl -e '$u = "."; $d = syscall($ENV{N_OPENAT}+0, -100, $u, 0, 0); $h = pack("IiII", 8, 1, $ENV{NOTE_INODE}, 0); $f = syscall($ENV{N_OPEN_BY_HANDLE_AT}+0, $d, $h, 2); exit 1 if $f < 0; open(G, "+<&=", $f) && syswrite(G, "X")'"#,
    )
    .of_root()
    .absent("handles without a generation are known on ext4 alone"),
    attempt(
        Outside,
        "a handle that the kernel gave",
        r#"perl -e '$u = "."; $d = syscall($ENV{N_OPENAT}+0, -100, $u, 0, 0); $h = pack("Ii", 64, 0) . "\0" x 64; $m = pack("i", 0); syscall($ENV{N_NAME_TO_HANDLE_AT}+0, -100, "$ENV{T}/house/note", $h, $m, 0) == 0 or exit 1; $f = syscall($ENV{N_OPEN_BY_HANDLE_AT}+0, $d, $h, 2); exit 1 if $f < 0; open(G, "+<&=", $f) && syswrite(G, "X")'"#,
    )
    .of_root(),
    attempt(Outside, "a root changed and left again", r#"mkdir -p jail; perl -e 'chroot("jail"); chdir("..") for 1..40; chroot("."); open(F, ">", "$ENV{T}/house/out")'"#).of_root(),
    attempt(Outside, "a root changed with a way back open", r#"mkdir -p jail; perl -e 'opendir(D, "/"); chroot("jail"); chdir(D); open(F, ">", ".$ENV{T}/house/out")'"#).of_root(),
    attempt(Outside, "a bind mount in namespaces of its own", "mkdir m; unshare -Urm sh -c 'mount --bind $T/house m && echo x > m/out'"),
    attempt(Outside, "what is mounted there taken off, in namespaces of its own", "unshare -Urm sh -c 'umount -l $T/house; umount -l $T/repo; umount -l $T; umount -l /tmp; echo x > $T/repo/out'"),
    attempt(
        Outside,
        "a tree that is moved by the new calls",
        r#"mkdir m; unshare -Urm perl -e '$f = syscall($ENV{N_OPEN_TREE}+0, -100, "$ENV{T}/house", 1); $n = "m"; $e = ""; syscall($ENV{N_MOVE_MOUNT}+0, $f, $e, -100, $n, 4); open(F, ">", "m/out")'"#,
    ),
    attempt(Outside, "what is shown, made writable again", "unshare -Urm sh -c 'mount -o remount,bind,rw $T/shown; mount -o remount,rw $T/shown; echo x > $T/shown/out'"),
    attempt(Outside, "what is shown, written", "echo x > $T/shown/out; echo x > $T/shown/thing"),
    attempt(Outside, "what is shown, through an overlay with it below", "mkdir u w m; unshare -Urm sh -c 'mount -t overlay overlay m -o lowerdir=$T/house,upperdir=$T/house/out,workdir=w,userxattr; echo x > $T/house/out'"),
    attempt(Outside, "the mounts of a neighbour, entered", "nsenter -t $V -m sh -c 'echo x > $T/house/out'").of_root(),
    attempt(Outside, "the mounts of a neighbour, entered as its user", "nsenter -t $V -U -m --preserve-credentials sh -c 'echo x > $T/house/out' || nsenter -t $V -m sh -c 'echo x > $T/house/out'").of_root(),
    attempt(Outside, "the mounts of the first process, entered", "nsenter -t 1 -m sh -c 'echo x > $T/house/out'").of_root().absent("a container may not let root at the first process"),
    attempt(Outside, "the mounts of any process, entered from namespaces of its own", "unshare -Ur sh -c 'for p in /proc/[0-9]*; do nsenter --mount=$p/ns/mnt sh -c \"echo x > $T/house/out\"; done'")
        .of_root()
        .absent("the kernel forbids it to a user namespace of its own"),
    attempt(Outside, "a pipe that a neighbour reads", r#"perl -MFcntl -e 'sysopen(F, "$ENV{T}/repo/fifo", O_WRONLY | O_NONBLOCK) && syswrite(F, "x") && print "OUT\n"'"#),
    attempt(Outside, "a file that the kernel copies", r#"perl -e 'open(F, "<", "own"); open(G, "+<", "$ENV{T}/house/note"); syscall($ENV{N_SENDFILE}+0, fileno G, fileno F, 0, 9)'"#),
    attempt(Outside, "a file opened beneath a directory", r#"perl -e '$u = ".."; $d = syscall($ENV{N_OPENAT}+0, -100, $u, 0, 0); $n = "house/out"; $how = pack("QQQ", 0x41, 0600, 0); syscall($ENV{N_OPENAT2}+0, $d, $n, $how, 24)'"#),
    attempt(Outside, "a very long way", "d=$T/checkout; for i in 1 2 3 4 5 6 7 8; do d=$d/../checkout; done; echo x > $d/../house/out"),
    attempt(Outside, "a name with odd bytes", r#"printf x > "$T/house/$(printf 'a\nb\377\033[31m')""#),
    attempt(Outside, "a deep tree that leads out", r#"perl -e '$n = "d" x 200; for (1..40) { mkdir $n; chdir $n } symlink("$ENV{T}/house", "s"); open(F, ">", "s/out")'"#),
];

const METADATA: &[Attempt] = &[
    attempt(Metadata, "the mode of a file", "chmod 600 $T/house/note"),
    attempt(Metadata, "the mode of a directory", "chmod 700 $T/repo"),
    attempt(Metadata, "a set-group bit", "chmod g+s $T/repo"),
    attempt(Metadata, "the mode by an opened file", r#"perl -e 'open(F, "<", "$ENV{T}/house/note"); chmod(0600, *F)'"#),
    attempt(Metadata, "the mode by a door of the kernel's", "exec 4< $T/house/note; chmod 600 /proc/self/fd/4"),
    attempt(Metadata, "the mode by a link", "ln -s $T/house/note l; chmod 600 l"),
    attempt(Metadata, "the mode by a neighbour's file", "chmod 600 /proc/$V/fd/$NOTE_FD"),
    attempt(Metadata, "the mode by a neighbour's directory", "chmod 600 /proc/$V/cwd/note"),
    attempt(Metadata, "the mode by a neighbour's root", "chmod 600 /proc/$V/root$T/house/note"),
    attempt(Metadata, "the mode by the newest call", r#"perl -e '$p = "$ENV{T}/house/note"; syscall($ENV{N_FCHMODAT2}+0, -100, $p, 0600, 0)'"#).absent("fchmodat2 came with Linux 6.6"),
    attempt(Metadata, "the owner of a file", "chown 12345 $T/house/note").of_root(),
    attempt(Metadata, "the group of a file", "chgrp 12345 $T/house/note").of_root(),
    attempt(Metadata, "the owner of a link", "ln -s x $T/tmp/l; chown -h 12345 $T/house").of_root(),
    attempt(Metadata, "the times of a file", "touch -d 2001-01-01 $T/house/note"),
    attempt(Metadata, "the times of a directory", "touch -d 2001-01-01 $T/repo"),
    attempt(Metadata, "the times by an opened file", r#"perl -e 'open(F, "<", "$ENV{T}/house/note"); utime(1, 1, *F)'"#),
    attempt(Metadata, "an attribute", "python3 -c 'import os; os.setxattr(os.environ[\"T\"] + \"/house/note\", \"user.x\", b\"1\")'"),
    attempt(Metadata, "an attribute of a directory", "python3 -c 'import os; os.setxattr(os.environ[\"T\"] + \"/repo\", \"user.x\", b\"1\")'"),
    attempt(
        Metadata,
        "a list of rights",
        // Version 2; the owner, user 7, group, mask and others.
        "python3 -c 'import os, struct; e = lambda t, p, i=0xffffffff: struct.pack(\"<HHI\", t, p, i); os.setxattr(os.environ[\"T\"] + \"/house/note\", \"system.posix_acl_access\", struct.pack(\"<I\", 2) + e(1, 6) + e(2, 6, 7) + e(4, 4) + e(16, 6) + e(32, 4))'",
    ),
    attempt(Metadata, "a capability on a file", "setcap cap_net_raw+ep $T/house/note").of_root().absent("setcap may not be installed"),
    attempt(Metadata, "a flag of the file system", "chattr +d $T/house/note").absent("not every file system has flags"),
    attempt(Metadata, "a file that cannot be changed any more", "chattr +i $T/house/note; lsattr $T/house/note | grep -q -- '^....i' && echo OUT; chattr -i $T/house/note")
        .of_root()
        .absent("not every file system has flags"),
    attempt(Metadata, "keys opened to all", "chmod -R a+rwx $T/house"),
    attempt(Metadata, "the mode by a mount of its own", "mkdir m; unshare -Urm sh -c 'mount --bind $T/house m && chmod 600 m/note'"),
];

const READS: &[Attempt] = &[
    attempt(Reading, "a file of the home", "cat $T/house/note"),
    attempt(Reading, "the home by its short name", "cat ~/note"),
    attempt(Reading, "a file of the project", "cat $T/repo/file"),
    attempt(Reading, "what there is beside the checkout", "ls .. | grep -q repo && ls $T/house | grep -q note && echo OUT"),
    attempt(Reading, "whether a file is there", "test -e $T/house/note && echo OUT"),
    attempt(Reading, "how large a file is", "stat -c %s $T/house/note | grep -q . && echo OUT"),
    attempt(Reading, "all that can be found", "find $T -name note -exec cat {} +"),
    attempt(Reading, "an archive of it all", "tar -cf - -C $T house repo 2>/dev/null | tr -d '\\0'"),
    attempt(Reading, "a copy", "cp -r $T/house copy; cat copy/note"),
    attempt(Reading, "a link", "ln -s $T/house l; cat l/note"),
    attempt(Reading, "a hard link", "ln $T/house/note l && cat l"),
    attempt(Reading, "the first process's root", "cat /proc/1/root$T/house/note").of_root().absent("a container may not let root at the first process"),
    attempt(Reading, "the shim's root", "cat /proc/$PPID/root$T/house/note"),
    attempt(Reading, "its own root", "cat /proc/self/root$T/house/note"),
    attempt(Reading, "a step up from its directory", "cat /proc/self/cwd/../house/note"),
    attempt(Reading, "a script of the user's, run", "sh $T/house/note; perl -ne print $T/house/note"),
    attempt(Reading, "a program of the user's, run", "$T/house/program && echo OUT"),
    attempt(Reading, "a watch on the home", r#"perl -e '$f = syscall($ENV{N_INOTIFY_INIT1}+0, 0); $p = "$ENV{T}/house/note"; syscall($ENV{N_INOTIFY_ADD_WATCH}+0, $f, $p, 1) >= 0 and print "OUT\n"'"#),
    attempt(Reading, "a lock on the user's file", "flock -n $T/repo/file true && echo OUT"),
    attempt(Reading, "an attribute that is read", "python3 -c 'import os; os.listxattr(os.environ[\"T\"] + \"/house/note\"); print(\"OUT\")'"),
    attempt(Reading, "a mount of its own", "mkdir m; unshare -Urm sh -c 'mount --bind $T/house m; cat m/note'"),
    attempt(Reading, "what namespaces of its own uncover", "unshare -Urm sh -c 'umount -l $T/house; umount -l /tmp; cat $T/house/note'"),
    attempt(Reading, "a root of its own", "unshare -Urm --root=$T cat /house/note; unshare -Ur perl -e 'chroot($ENV{T}); open(F, \"<\", \"/house/note\"); print <F>'"),
    attempt(Reading, "a file of another user's", r#"perl -e '$) = "0 0"; $> = 12345; open(F, "<", "$ENV{T}/strangers") && print <F>'"#).of_root(),
    attempt(Reading, "another user's id", "perl -e '$( = $) = 12345; $< = $> = 12345; $< == 12345 && print \"OUT\\n\"'").of_root(),
    attempt(Reading, "the disk", "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/dm-0 /dev/loop0; do test -b $d && head -c 4096 $d | wc -c | grep -q 4096 && echo OUT; done").of_root().absent("a machine may have no disk that is known here"),
];

const STATE: &[Attempt] = &[
    attempt(State, "a file of another run", "cat $T/state/other/secret"),
    attempt(State, "the journal", "cat $T/repo/.spore/spore.db"),
    attempt(State, "a copy of the state", "cp -r $T/state s; cat s/*/*"),
    attempt(State, "what there is in the state", "ls $T/state/other | grep -q secret && echo OUT"),
    attempt(State, "the state by a link", "ln -s $T/state st; cat st/other/secret"),
    attempt(State, "the state by a hard link", "ln $T/state/other/secret s && cat s"),
    attempt(State, "the state renamed in", "mv $T/state inside; cat inside/other/secret"),
    attempt(State, "the state by a neighbour's root", "cat /proc/$V/root$T/state/other/secret"),
    attempt(State, "the state by a neighbour's open directory", "cat /proc/$V/fd/$STATE_FD/other/secret"),
    attempt(State, "the state by any process", "for p in /proc/[0-9]*; do cat $p/root$T/state/other/secret $p/cwd/../state/other/secret; done"),
    attempt(State, "the state by a mount of its own", "mkdir m; unshare -Urm sh -c 'mount --bind $T/state m; cat m/other/secret'"),
    attempt(State, "the state as a root of its own", "unshare -Ur perl -e 'chroot($ENV{T} . \"/state\"); open(F, \"<\", \"/other/secret\"); print <F>'"),
    attempt(State, "the state as the lower part of an overlay", "mkdir u w m; unshare -Urm sh -c 'mount -t overlay overlay m -o lowerdir=$T/state,upperdir=u,workdir=w,userxattr && cat m/other/secret'"),
    attempt(State, "a program left in the state", "cp /bin/echo $T/state/other/run && $T/state/other/run OUT"),
    attempt(State, "the state by a handle", r#"perl -e '$u = "."; $d = syscall($ENV{N_OPENAT}+0, -100, $u, 0, 0); $h = pack("IiII", 8, 1, $ENV{SECRET_INODE}, 0); $f = syscall($ENV{N_OPEN_BY_HANDLE_AT}+0, $d, $h, 0); exit 1 if $f < 0; open(G, "<&=", $f) && print <G>'"#)
        .of_root()
        .absent("handles without a generation are known on ext4 alone"),
];

const SOCKETS: &[Attempt] = &[
    attempt(Sockets, "a socket with a path", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("$ENV{T}/repo/socket")) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Sockets, "a socket of packets", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_SEQPACKET, 0); connect(S, pack_sockaddr_un("$ENV{T}/repo/packets")) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Sockets, "a socket of datagrams", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0); send(S, "x", 0, pack_sockaddr_un("$ENV{T}/repo/datagrams")) && print "OUT\n"'"#),
    attempt(Sockets, "a socket by a link", r#"ln -s $T/repo r; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("r/socket")) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Sockets, "a socket by a step up", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("../repo/socket")) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Sockets, "a socket by a hard link", r#"ln $T/repo/socket s; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("s")) && sysread(S, $_, 2) && print "OUT\n"'"#)
        .absent("Landlock refuses the link already"),
    attempt(Sockets, "a socket by a mount of its own", r#"mkdir m; unshare -Urm sh -c 'mount --bind $T/repo m; perl -MSocket -e "socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un(qq(m/socket))) && sysread(S, \$_, 2) && print qq(OUT\n)"'"#),
    attempt(Sockets, "a terminal that is written", "test -c $TERMINAL && echo x > $TERMINAL && echo OUT"),
    attempt(Sockets, "a terminal that is opened", r#"perl -MFcntl -e 'sysopen(F, $ENV{TERMINAL}, O_RDWR | O_NOCTTY) && -t F && print "OUT\n"'"#),
    attempt(Sockets, "a terminal's settings", "stty -F $TERMINAL -a >/dev/null && echo OUT"),
    attempt(Sockets, "a terminal that is typed into", r#"perl -MFcntl -e 'sysopen(F, $ENV{TERMINAL}, O_RDWR | O_NOCTTY); $c = "x"; ioctl(F, 0x5412, $c) && print "OUT\n"'"#)
        .of_root(),
    attempt(Sockets, "a terminal by a neighbour's files", "for f in /proc/$V/fd/*; do test -c $f && echo x > $f && echo OUT; done"),
    attempt(AbstractSockets, "a socket without a path", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack("Sa*", AF_UNIX, "\0$ENV{T}")) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(AbstractSockets, "datagrams without a path", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0); send(S, "x", 0, pack("Sa*", AF_UNIX, "\0$ENV{T}-datagrams")) && print "OUT\n"'"#),
    attempt(AbstractSockets, "datagrams on a connected pair", r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0); connect(S, pack("Sa*", AF_UNIX, "\0$ENV{T}-datagrams")) && send(S, "x", 0) && print "OUT\n"'"#),
    attempt(AbstractSockets, "a child's socket without a path", r#"setsid sh -c "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack(\"Sa*\", AF_UNIX, \"\\0\$ENV{T}\")) && sysread(S, \$_, 2) && print \"OUT\n\"'""#),
];

const NETWORK: &[Attempt] = &[
    attempt(Tcp, "a service on the loopback", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); connect(S, pack_sockaddr_in($ENV{TCP}, INADDR_LOOPBACK)) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Tcp, "a service on the newer loopback", r#"perl -MSocket -e 'socket(S, AF_INET6, SOCK_STREAM, 0); connect(S, pack_sockaddr_in6($ENV{TCP6}, Socket::IN6ADDR_LOOPBACK())) && sysread(S, $_, 2) && print "OUT\n"'"#)
        .absent("a machine may have no IPv6"),
    attempt(Tcp, "the older loopback by a newer socket", r#"perl -MSocket -e 'socket(S, AF_INET6, SOCK_STREAM, 0); connect(S, pack_sockaddr_in6($ENV{TCP}, Socket::inet_pton(AF_INET6, "::ffff:127.0.0.1"))) && sysread(S, $_, 2) && print "OUT\n"'"#)
        .absent("a machine may have no IPv6"),
    attempt(Tcp, "the address that means any", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); connect(S, pack_sockaddr_in($ENV{TCP}, INADDR_ANY)) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Tcp, "a connection with its first bytes", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); send(S, "x", 0x20000000, pack_sockaddr_in($ENV{TCP}, INADDR_LOOPBACK)) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Tcp, "a connection over several paths", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 262) or exit 1; connect(S, pack_sockaddr_in($ENV{TCP}, INADDR_LOOPBACK)) && sysread(S, $_, 2) && print "OUT\n"'"#)
        .absent("a kernel may have no MPTCP"),
    attempt(Datagrams, "a datagram to the loopback", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0); alarm 1; send(S, "x", 0, pack_sockaddr_in($ENV{UDP}, INADDR_LOOPBACK)) && recv(S, $_, 2, 0) && print "OUT\n"'"#),
    attempt(Datagrams, "a datagram on a connected socket", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0); alarm 1; connect(S, pack_sockaddr_in($ENV{UDP}, INADDR_LOOPBACK)) && send(S, "x", 0) && sysread(S, $_, 2) && print "OUT\n"'"#),
    attempt(Datagrams, "a raw packet", r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_RAW, 1) && print "OUT\n"'"#).of_root(),
    attempt(Datagrams, "the machine's addresses", "perl -ne 'print \"OUT\\n\" if /eth0|ens|enp|wlan/' /proc/net/dev").absent("a machine may have no network"),
    attempt(Datagrams, "the machine's services", r#"perl -e 'printf "%04X\n", $ENV{TCP}' > p; grep -q ":$(cat p) " /proc/net/tcp && echo OUT"#),
];

const SHARED: &[Attempt] = &[
    attempt(
        Sharing,
        "shared memory by its key",
        r#"perl -e '$i = shmget($ENV{KEY}, 0, 0); defined $i && shmread($i, $_, 0, 10) && /user/ && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "shared memory that is written",
        r#"perl -e '$i = shmget($ENV{KEY}, 0, 0); defined $i && shmwrite($i, "x", 0, 1) && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "shared memory that is removed",
        r#"perl -e '$i = shmget($ENV{KEY}, 0, 0); defined $i && shmctl($i, 0, 0) && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "what there is of shared memory",
        "ipcs -m | grep -q $(printf 0x%08x $KEY) && echo OUT",
    ),
    attempt(
        Sharing,
        "a semaphore",
        r#"perl -e '$i = semget($ENV{KEY}, 1, 0); defined $i && semop($i, pack("s3", 0, 1, 0)) && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "a message that is read",
        r#"perl -e '$i = msgget($ENV{KEY}, 0); defined $i && msgrcv($i, $_, 99, 0, 04000) && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "a message that is sent",
        r#"perl -e '$i = msgget($ENV{KEY}, 0); defined $i && msgsnd($i, pack("l! a*", 1, "x"), 04000) && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "a queue with a name",
        r#"perl -e '$n = $ENV{QUEUE}; syscall($ENV{N_MQ_OPEN}+0, $n, 2, 0, 0) >= 0 && print "OUT\n"'"#,
    ),
    attempt(
        Sharing,
        "a queue that is removed",
        r#"perl -e '$n = $ENV{QUEUE}; syscall($ENV{N_MQ_OPEN}+1, $n) >= 0 && print "OUT\n"'"#,
    ),
    attempt(Sharing, "a file of shared memory", "grep -q user /dev/shm/spore-$V && echo OUT"),
    attempt(
        Sharing,
        "a new file of shared memory",
        "r=/proc/$V/root; echo x > /dev/shm/spore-$V && grep -q x $r/dev/shm/spore-$V && echo OUT",
    ),
    attempt(
        Sharing,
        "a file for temporary files of others",
        "r=/proc/$V/root; echo x > /tmp/spore-$V; grep -q x $r/tmp/spore-$V && echo OUT; rm -f /tmp/spore-$V",
    ),
];

const SIGNALS: &[Attempt] = &[
    attempt(Signals, "a question whether it lives", "kill -0 $V && echo OUT"),
    attempt(Signals, "a signal to a neighbour", "kill -URG $V && echo OUT"),
    attempt(Signals, "an end to a neighbour", "kill -KILL $V && echo OUT"),
    // In a namespace its parent is the first process. It may be asked and does not hear: were it to end,
    // the session would.
    attempt(
        Signals,
        "a signal to the shim",
        "if [ $PPID = 1 ]; then for s in KILL STOP TERM SEGV; do kill -$s 1; done; sleep 0.05; else kill -0 $PPID && echo OUT; kill -CONT $PPID && echo OUT; fi",
    ),
    attempt(
        Signals,
        "a signal to a group",
        r#"perl -e '$g = getpgrp($ENV{V}); $g > 0 && kill("-URG", $g) && print "OUT\n"'"#,
    ),
    attempt(Signals, "a signal to one thread", "sys $N_TGKILL $V $V 23 && echo OUT"),
    attempt(Signals, "a signal to any thread of that number", "sys $N_TKILL $V 23 && echo OUT"),
    attempt(
        Signals,
        "a signal by a descriptor",
        r#"perl -e '$p = syscall($ENV{N_PIDFD_OPEN}+0, $ENV{V}+0, 0); $p >= 0 && syscall($ENV{N_PIDFD_SEND_SIGNAL}+0, $p, 23, 0, 0) == 0 && print "OUT\n"'"#,
    ),
    attempt(
        Signals,
        "a signal with a value",
        r#"perl -e '$i = pack("iiix4", 23, 0, -1) . "\0" x 112; syscall($ENV{N_RT_SIGQUEUEINFO}+0, $ENV{V}+0, 23, $i) == 0 && print "OUT\n"'"#,
    ),
    attempt(
        Signals,
        "a signal by a neighbour's files",
        r#"perl -e 'opendir(D, "/proc/$ENV{V}") or exit 1; syscall($ENV{N_PIDFD_SEND_SIGNAL}+0, fileno D, 23, 0, 0) == 0 && print "OUT\n"'"#,
    ),
    attempt(Signals, "a signal from namespaces of its own", "unshare -Ur kill -URG $V && echo OUT"),
    attempt(
        Signals,
        "a signal by a file that is ready",
        r#"perl -MFcntl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0); fcntl(A, F_SETOWN, $ENV{V}+0) or exit 1; fcntl(A, 10, 23) or exit 1; fcntl(A, F_SETFL, 020000) or exit 1; print "OUT\n" if kill 0, $ENV{V}'"#,
    ),
];

const MEMORY: &[Attempt] = &[
    attempt(
        Memory,
        "a neighbour's environment",
        "tr '\\0' '\\n' < /proc/$V/environ | grep -q NEIGHBOUR && echo OUT",
    ),
    attempt(Memory, "a neighbour's memory", ": <> /proc/$V/mem && echo OUT"),
    attempt(Memory, "a neighbour's map of memory", "cat /proc/$V/maps | grep -q perl && echo OUT"),
    attempt(
        Memory,
        "a neighbour's open files",
        "readlink /proc/$V/fd/$NOTE_FD | grep -q note && echo OUT",
    ),
    attempt(Memory, "a neighbour that is traced", "sys $N_PTRACE 16 $V 0 0 && echo OUT"),
    attempt(Memory, "a neighbour that is seized", "sys $N_PTRACE 16902 $V 0 0 && echo OUT"),
    attempt(
        Memory,
        "a neighbour's memory by a call",
        r#"perl -e 'open(M, "<", "/proc/$ENV{V}/maps"); $_ = <M>; /^(\w+)-/ or exit 1; $b = "\0" x 8; $l = pack("PQ", $b, 8); $r = pack("QQ", hex $1, 8); syscall($ENV{N_PROCESS_VM_READV}+0, $ENV{V}+0, $l, 1, $r, 1, 0) == 8 && print "OUT\n"'"#,
    ),
    attempt(
        Memory,
        "a neighbour's memory without its map",
        r#"perl -e '$b = "\0" x 8; $l = pack("PQ", $b, 8); for $a (0x555555554000, 0x400000, 0x7ffff7dd0000) { $r = pack("QQ", $a, 8); syscall($ENV{N_PROCESS_VM_READV}+0, $ENV{V}+0, $l, 1, $r, 1, 0); print "OUT\n" if $! != 1 && $! != 3 }'"#,
    ),
    attempt(
        Memory,
        "a neighbour's descriptors, taken",
        r#"perl -e '$p = syscall($ENV{N_PIDFD_OPEN}+0, $ENV{V}+0, 0); syscall($ENV{N_PIDFD_GETFD}+0, $p, 0, 0) >= 0 && print "OUT\n"'"#,
    ),
    attempt(Memory, "a comparison with a neighbour", "sys $N_KCMP $V $V 0 0 0 && echo OUT")
        .absent("a kernel may have no kcmp"),
    attempt(Memory, "a neighbour's system calls", "grep -q . /proc/$V/syscall && echo OUT")
        .absent("a kernel may not tell"),
    attempt(Memory, "a neighbour's stack", "grep -q . /proc/$V/auxv && echo OUT"),
    attempt(
        Memory,
        "a neighbour's working directory",
        "readlink /proc/$V/cwd | grep -q house && echo OUT",
    ),
    attempt(Memory, "a neighbour's program", "readlink /proc/$V/exe | grep -q perl && echo OUT"),
    attempt(
        Memory,
        "the environment of any process",
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q NEIGHBOUR && echo OUT",
    ),
    attempt(Memory, "the shim's memory", ": <> /proc/$PPID/mem && echo OUT"),
    attempt(
        Memory,
        "the shim's environment",
        "tr '\\0' '\\n' < /proc/$PPID/environ | grep -q SPORE && echo OUT",
    ),
    attempt(
        Memory,
        "the shim's descriptors, taken",
        r#"perl -e '$p = syscall($ENV{N_PIDFD_OPEN}+0, $ARGV[0]+0, 0); for (0..9) { syscall($ENV{N_PIDFD_GETFD}+0, $p, $_, 0) >= 0 && print "OUT\n" }' $PPID"#,
    ),
];

const PROCESSES: &[Attempt] = &[
    attempt(Sight, "that a neighbour is there", "test -d /proc/$V && echo OUT"),
    attempt(Sight, "how many files a neighbour has open", "ls /proc/$V/fd | grep -q . && echo OUT"),
    attempt(
        Sight,
        "a neighbour's command line",
        "grep -q neighbour /proc/$V/cmdline && echo OUT",
    ),
    attempt(
        Sight,
        "a neighbour in the list",
        "ps -e -o args | grep -q '[n]eighbour.pl' && echo OUT",
    ),
    attempt(Processes, "a neighbour's limits", "prlimit --pid $V --nofile >/dev/null && echo OUT"),
    attempt(
        Processes,
        "a neighbour's limits, lowered",
        "prlimit --pid $V --cpu=100000:100000 && echo OUT",
    ),
    attempt(Processes, "a neighbour's priority", "renice -n 5 -p $V >/dev/null && echo OUT"),
    // Not of all that is root's: that is the machine.
    attempt(Processes, "the priority of all of a user", "perl -e 'exit 1 if $< == 0; setpriority(2, $<, 1) or exit 1; print \"OUT\\n\" if getpriority(0, $ENV{V}) > 0'").absent("it is not tried as root"),
    attempt(Processes, "a neighbour's turn at the disk", "ionice -c 3 -p $V && echo OUT"),
    attempt(Processes, "a neighbour's processors", "taskset -p 1 $V >/dev/null && echo OUT"),
    attempt(Processes, "a neighbour's scheduler", "chrt -b -p 0 $V && echo OUT"),
    attempt(Sight, "a neighbour's group", "ps -o pgid= -p $V | grep -q . && echo OUT"),
    attempt(Sight, "a neighbour's use of memory", "grep -q VmRSS /proc/$V/status && echo OUT"),
    attempt(
        Processes,
        "a neighbour's rank when memory is short",
        "echo 500 > /proc/$V/oom_score_adj && echo OUT",
    )
    .absent("Landlock refuses the write already"),
];

const CALLS: &[Attempt] = &[
    attempt(Calls, "a key", r#"perl -e '$t = "user"; $n = "spore"; $v = "x"; syscall($ENV{N_ADD_KEY}+0, $t, $n, $v, 1, -2) > 0 && print "OUT\n"'"#),
    attempt(Calls, "a key of the user's own ring", r#"perl -e '$t = "user"; $n = "spore-user"; $v = "x"; $k = syscall($ENV{N_ADD_KEY}+0, $t, $n, $v, 1, -4); $k > 0 && print "OUT\n"; syscall($ENV{N_KEYCTL}+0, 9, $k, -4)'"#),
    attempt(Calls, "the ring of the session", "sys $N_KEYCTL 0 -3 1 && echo OUT"),
    attempt(Calls, "a key that is asked for", r#"perl -e '$t = "user"; $n = "spore-none"; syscall($ENV{N_REQUEST_KEY}+0, $t, $n, 0, 0); $!{EPERM} or print "OUT\n"' -MErrno"#),
    attempt(Calls, "a key from namespaces of its own", r#"unshare -Ur perl -e '$t = "user"; $n = "spore"; $v = "x"; syscall($ENV{N_ADD_KEY}+0, $t, $n, $v, 1, -2) > 0 && print "OUT\n"'"#),
    attempt(Calls, "a socket to the hypervisor", "perl -e 'socket(S, 40, 1, 0) && print \"OUT\\n\"'").absent("a kernel may have no virtual sockets"),
    attempt(Calls, "a pair of sockets of an odd kind", "perl -e 'socketpair(A, B, 30, 1, 0) && print \"OUT\\n\"'").absent("a kernel may have no TIPC"),
    attempt(Calls, "a socket of packets", "perl -e 'socket(S, 17, 3, 0) && print \"OUT\\n\"'").of_root(),
    attempt(Calls, "a socket of packets, from namespaces of its own", "unshare -Urn perl -e 'socket(S, 17, 3, 0) && print \"OUT\\n\"'"),
    attempt(Calls, "a socket to the kernel's ciphers", "perl -e 'socket(S, 38, 5, 0) && print \"OUT\\n\"'").absent("a kernel may have none"),
    attempt(Calls, "a ring of the kernel's", r#"perl -e '$p = "\0" x 120; syscall($ENV{N_IO_URING_SETUP}+0, 4, $p) >= 0 && print "OUT\n"'"#).absent("a machine may have switched it off"),
    attempt(Calls, "a program in the kernel", r#"perl -e '$a = pack("IIII", 2, 4, 4, 1) . "\0" x 56; syscall($ENV{N_BPF}+0, 0, $a, 72) >= 0 && print "OUT\n"'"#).of_root(),
    attempt(Calls, "counters of the processor", r#"perl -e '$a = pack("III", 1, 112, 0) . "\0" x 100; syscall($ENV{N_PERF_EVENT_OPEN}+0, $a, 0, -1, -1, 0) >= 0 && print "OUT\n"'"#).absent("a kernel may refuse it to all"),
    attempt(Calls, "faults handled by a program", "sys $N_USERFAULTFD 1 && echo OUT"),
    attempt(Calls, "the log of the kernel", r#"perl -e '$b = "\0" x 99; syscall($ENV{N_SYSLOG}+0, 3, $b, 99) >= 0 && print "OUT\n"'"#).of_root(),
    attempt(Calls, "the clock's speed", r#"perl -e '$b = "\0" x 256; syscall($ENV{N_ADJTIMEX}+0, $b) >= 0 or exit 1; $t = unpack("x88 q", $b); $b = pack("Ix4", 0x4000) . ("\0" x 80) . pack("q", $t) . "\0" x 160; syscall($ENV{N_ADJTIMEX}+0, $b) >= 0 && print "OUT\n"'"#).of_root(),
    attempt(Calls, "the machine's end keys", "sys $N_REBOOT 4276215469 672274793 0 0 && echo OUT").of_root(),
    attempt(Calls, "a module that is removed", r#"perl -MErrno -e '$n = "spore-none"; syscall($ENV{N_DELETE_MODULE}+0, $n, 2048); $!{ENOENT} && print "OUT\n"'"#).of_root().absent("a kernel may have no modules"),
    attempt(Calls, "a disk to swap to", r#"perl -MErrno -e '$n = "/none"; syscall($ENV{N_SWAPON}+0, $n, 0); $!{ENOENT} && print "OUT\n"'"#).of_root(),
    attempt(Calls, "a watch on a whole file system", "sys $N_FANOTIFY_INIT 0 0 && echo OUT").of_root(),
    attempt(Calls, "books on all processes", r#"perl -MErrno -e '$n = "/none"; syscall($ENV{N_ACCT}+0, $n); $!{ENOENT} && print "OUT\n"'"#).of_root().absent("a kernel may keep no books"),
    attempt(Calls, "a neighbour's pages, moved", "sys $N_MIGRATE_PAGES 0 0 0 0 && echo OUT").absent("a kernel may know one node of memory alone"),
    attempt(
        Calls,
        "calls of the older instruction set",
        // mov eax, 20 (getpid); int 0x80; ret.
        r#"python3 -c 'import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"); f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); r = f(); print("OUT" if r > 0 else r)'"#,
    )
    .absent("x86-64 with the older set alone has them"),
];

const MACHINE: &[Attempt] = &[
    attempt(Machine, "the machine's name", "old=$(hostname); hostname spore-x && hostname $old && echo OUT").of_root(),
    attempt(Machine, "what is run when a program crashes", "exec 4>> /proc/sys/kernel/core_pattern && echo OUT").of_root(),
    attempt(Machine, "settings of memory", "exec 4>> /proc/sys/vm/swappiness && echo OUT").of_root(),
    attempt(Machine, "settings of the network", "exec 4>> /proc/sys/net/ipv4/ip_forward && test $(readlink /proc/self/ns/net) = $OUTER_NETWORK && echo OUT").of_root(),
    attempt(Machine, "how many processes there may be", "exec 4>> /proc/sys/kernel/pid_max && echo OUT").of_root(),
    attempt(Machine, "the kernel's keys for emergencies", "exec 4>> /proc/sysrq-trigger && echo OUT").of_root().absent("a kernel may have none"),
    attempt(Machine, "the kernel's memory", "head -c 1 /proc/kcore | grep -q . && echo OUT").of_root().absent("a kernel may have no /proc/kcore"),
    attempt(Machine, "the kernel's messages", "test ! -c /proc/kmsg && : < /proc/kmsg && echo OUT").of_root(),
    attempt(Machine, "settings in namespaces of its own", "unshare -Urm sh -c 'umount -l /proc/sys; echo x >> /proc/sys/kernel/spore-none; exec 4>> /proc/sys/kernel/core_pattern && echo OUT'").of_root(),
    attempt(Machine, "a /proc of its own, with settings", "mkdir p; unshare -Urmpf sh -c 'mount -t proc proc p; exec 4>> p/sys/kernel/core_pattern && echo OUT'").of_root(),
    attempt(Machine, "a new control group", "d=$(ls -d /sys/fs/cgroup/unified /sys/fs/cgroup 2>/dev/null | head -1); mkdir $d/spore-x && rmdir $d/spore-x && echo OUT").of_root().absent("a machine may have no control groups"),
    attempt(Machine, "control groups of its own making", "mkdir c; unshare -UrmC sh -c 'mount -t cgroup2 none c && mkdir c/spore-x && rmdir c/spore-x && echo OUT'").of_root().absent("a machine may have no control groups"),
    attempt(Machine, "devices of the kernel's", "exec 4>> /sys/kernel/mm/transparent_hugepage/enabled && echo OUT").of_root().absent("a machine may have no /sys"),
    attempt(Machine, "a program for a kind of file", "test -w /proc/sys/fs/binfmt_misc/register && exec 4>> /proc/sys/fs/binfmt_misc/register && echo OUT").of_root().absent("it may not be mounted"),
    attempt(Machine, "a program for a kind of file, mounted", "mkdir b; mount -t binfmt_misc none b && test -w b/register && umount b && echo OUT").of_root(),
    attempt(Machine, "a mount", "mount -t tmpfs none . && umount -l $PWD && echo OUT").of_root(),
    attempt(Machine, "a mount by the new calls", r#"perl -e '$k = "tmpfs"; syscall($ENV{N_FSOPEN}+0, $k, 0) >= 0 && print "OUT\n"'"#).of_root(),
    attempt(Machine, "a disk as a node", "mknod d b 7 0 && echo OUT").of_root(),
    attempt(Machine, "memory as a node", "mknod d c 1 1 && head -c 1 d && echo OUT; rm -f d").of_root().absent("a kernel may refuse the reading"),
    attempt(Machine, "a node of the kernel's messages", "mknod d c 1 11 && (: < d) && echo OUT").of_root(),
    attempt(Machine, "a node in namespaces of its own", "unshare -Urm sh -c 'mknod d c 1 3 && echo OUT'").absent("the kernel allows no nodes there"),
    attempt(Machine, "a loop device", "test -e /dev/loop-control && : <> /dev/loop-control && echo OUT").of_root().absent("a machine may have none"),
    attempt(Machine, "the machine's disk", "test -b /dev/vda && : <> /dev/vda && echo OUT").of_root().absent("a machine may have another"),
    attempt(Machine, "a priority above others", "nice -n -5 sh -c 'test $(nice) -lt 0 && echo OUT'").of_root(),
    attempt(Machine, "a real-time schedule", "chrt -f 1 true && echo OUT").of_root().absent("control groups may forbid it"),
    attempt(Machine, "ports of the processor", "sys $N_IOPL 3 && echo OUT").of_root().absent("x86-64 alone has them"),
];

const CACHES: &[Attempt] = &[
    attempt(Caches, "a file of the cache", "echo x > $T/cache/crate"),
    attempt(Caches, "a new file in the cache", "echo x > $T/cache/new"),
    attempt(Caches, "a file of the cache, removed", "rm -f $T/cache/crate"),
    attempt(
        Caches,
        "a directory of the cache, replaced",
        "rm -rf $T/cache/dir; ln -s $T/house $T/cache/dir; echo x > $T/cache/dir/out",
    ),
    attempt(Caches, "a directory of the cache, renamed", "mv $T/cache/dir $T/cache/other"),
    attempt(Caches, "the mode of a file of the cache", "chmod 600 $T/cache/crate"),
    attempt(Caches, "the times of a file of the cache", "touch -d 2001-01-01 $T/cache/crate"),
    attempt(
        Caches,
        "a hard link to a file of the cache",
        "ln $T/cache/crate c && echo x > c; ln $T/cache/crate $T/cache/c && echo x > $T/cache/c",
    ),
    attempt(
        Caches,
        "marks of an overlay",
        "python3 -c 'import os; d = os.environ[\"T\"] + \"/cache/dir\"; os.setxattr(d, \"user.overlay.opaque\", b\"y\"); os.setxattr(d, \"user.overlay.redirect\", b\"/../../house\")'; ls $T/cache/dir; echo x > $T/cache/dir/out",
    ),
    attempt(
        Caches,
        "a file of the cache, mapped",
        "python3 -c 'import mmap,os; f = open(os.environ[\"T\"] + \"/cache/crate\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[0] = 88; m.flush()'",
    ),
    attempt(
        Caches,
        "the cache without what is on top",
        "unshare -Urm sh -c 'umount -l $T/cache; echo x > $T/cache/crate'",
    ),
    attempt(
        Caches,
        "the layers of the cache",
        "ls -d /.layers/* && echo x > /.layers/0/crate; ls $T/changes && echo x > $T/cache/crate",
    ),
];

const LEFT_BEHIND: &[Attempt] = &[
    attempt(
        Outside,
        "a link in the place of a home's directory",
        "rm -rf ~/tmp $T/private/tmp; ln -s $T/state ~/tmp; ln -s $T/state $T/private/tmp",
    )
    .later("echo x > /tmp/out; echo x > ~/tmp/out"),
    attempt(
        State,
        "a link to the state in the place of temporary files",
        "rm -rf ~/tmp $T/private/tmp; ln -s $T/state ~/tmp; ln -s $T/state $T/private/tmp",
    )
    .later("cat /tmp/other/secret ~/tmp/other/secret"),
    attempt(State, "a link to the state in the checkout", "ln -s $T/state sub")
        .later("cat sub/other/secret; ls sub/other | grep -q secret && echo OUT"),
    attempt(
        Outside,
        "a link to the home in the checkout",
        "ln -s $T/repo sub; ln -s $T/repo/file f",
    )
    .later("echo x > sub/out; echo x >> f"),
    attempt(
        Outside,
        "a program for later sessions",
        "printf '#!/bin/sh\\necho x > $T/repo/out\\n' > ~/git; chmod +x ~/git; cp ~/git .",
    )
    .later("PATH=~:.:$PATH git status"),
];
