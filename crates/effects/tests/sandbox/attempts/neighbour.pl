# A program of the user's own that runs beside a session: what a session must not reach.
# It answers "hi" on every kind of socket, holds files open, and shares memory and messages.
# Prints where all that is, as lines of NAME=VALUE, and ends when its input does.
use strict;
use Fcntl;
use Socket;

my ($t, $mq_open) = @ARGV;
chdir "$t/house" or die;
my %at = (V => $$, KEY => 0x59000000 + $$);
my @kept;
sub keep { my ($handle) = @_; push @kept, $handle; return fileno $handle }

open(my $note, '+<', "$t/house/note") or die;
$at{NOTE_FD} = keep($note);
opendir(my $state, "$t/state") or die;
$at{STATE_FD} = fileno $state;

my (@listening, @datagrams);
sub listening {
    my ($kind, $type, $address) = @_;
    socket(my $made, $kind, $type, 0) or return;
    bind($made, $address) && listen($made, 9) or return;
    push @listening, $made;
    return $made;
}
sub datagrams {
    my ($kind, $address) = @_;
    socket(my $made, $kind, SOCK_DGRAM, 0) or return;
    bind($made, $address) or return;
    push @datagrams, $made;
    return $made;
}
listening(AF_UNIX, SOCK_STREAM, pack_sockaddr_un("$t/repo/socket")) or die;
listening(AF_UNIX, SOCK_SEQPACKET, pack_sockaddr_un("$t/repo/packets")) or die;
datagrams(AF_UNIX, pack_sockaddr_un("$t/repo/datagrams")) or die;
listening(AF_UNIX, SOCK_STREAM, pack("Sa*", AF_UNIX, "\0$t")) or die;
datagrams(AF_UNIX, pack("Sa*", AF_UNIX, "\0$t-datagrams")) or die;
my $tcp = listening(AF_INET, SOCK_STREAM, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die;
($at{TCP}) = unpack_sockaddr_in(getsockname $tcp);
my $udp = datagrams(AF_INET, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die;
($at{UDP}) = unpack_sockaddr_in(getsockname $udp);
my $tcp6 = listening(AF_INET6, SOCK_STREAM, pack_sockaddr_in6(0, Socket::IN6ADDR_LOOPBACK()));
$at{TCP6} = $tcp6 ? (unpack_sockaddr_in6(getsockname $tcp6))[0] : 0;

# A terminal: 0x40045431 unlocks it, 0x80045430 tells its number.
sysopen(my $terminal, "/dev/ptmx", O_RDWR | O_NOCTTY) or die;
my ($locked, $number) = (pack("i", 0), pack("i", 0));
ioctl($terminal, 0x40045431, $locked) && ioctl($terminal, 0x80045430, $number) or die;
$at{TERMINAL} = "/dev/pts/" . unpack("i", $number);
# Held open: a terminal whose other side was closed once hangs up.
sysopen(my $other_side, $at{TERMINAL}, O_RDWR | O_NOCTTY) or die;

system("mkfifo", "$t/repo/fifo") == 0 or die;
sysopen(my $fifo, "$t/repo/fifo", O_RDWR | O_NONBLOCK) or die;

# Created, and for the owner alone.
my $made = 01000 | 0600;
my $memory = shmget($at{KEY}, 64, $made);
shmwrite($memory, "the user's", 0, 10);
my $semaphore = semget($at{KEY}, 1, $made);
my $messages = msgget($at{KEY}, $made);
msgsnd($messages, pack("l! a*", 1, "the user's"), 0);
my $queue = "spore-$$";
$at{QUEUE} = $queue if syscall($mq_open + 0, $queue, O_RDWR | O_CREAT, 0600, 0) >= 0;
open(my $shared, '>', "/dev/shm/spore-$$") or die;
syswrite($shared, "the user's");

$| = 1;
print map { "$_=$at{$_}\n" } sort keys %at;
print "READY=1\n";

while (1) {
    my $all = '';
    vec($all, fileno $_, 1) = 1 for \*STDIN, @listening, @datagrams;
    select($all, undef, undef, undef);
    last if vec($all, 0, 1);
    for my $one (grep { vec($all, fileno $_, 1) } @listening) {
        accept(my $peer, $one) or next;
        send($peer, "hi", 0x4000);
    }
    for my $one (grep { vec($all, fileno $_, 1) } @datagrams) {
        my $from = recv($one, my $said, 9, 0);
        send($one, "hi", 0x4000, $from) if $from;
    }
}
shmctl($memory, 0, 0);
semctl($semaphore, 0, 0, 0);
msgctl($messages, 0, 0);
# The call that removes a queue comes after the one that makes it, in every instruction set.
syscall($mq_open + 1, $queue);
unlink "/dev/shm/spore-$$";
