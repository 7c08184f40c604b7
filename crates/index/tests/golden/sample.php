<?php
declare(strict_types=1);

namespace Garden\Beds;

use Garden\Tools\Spade;
use Garden\Tools\{Hose as Pipe, Pump};
use function Garden\Tools\dig;
use const Garden\LIMIT;

require_once __DIR__ . '/../plot.php';
include 'lib/rows.php';

const MAX_ROWS = 12;
define('MIN_ROWS', 1);

/**
 * A bed of plants.
 *
 * @template T
 */
#[Tended]
final class Bed extends Plot implements Waterable, \Countable
{
    use Watering, Weeding { water as protected soak; }

    public const ROWS = 4;
    private array $plants;

    public function __construct(private readonly Pump $pump, array $plants = [])
    {
        parent::__construct(count($plants));
        $this->plants = $plants;
    }

    /** Waters every row. */
    public function water(int $litres): void
    {
        $this->check($litres);
        self::log($litres);
        static::log($litres);
        Spade::dig($litres);
        dig($litres);
        \strlen("x");
        $this->pump->run(new Pipe($litres));
        $plant?->drink();
        array_map(fn ($x) => twice($x), $this->plants);
    }

    protected function check(int $litres): bool { return $litres > 0; }

    private static function log(int $litres): void {}

    abstract function nothing();
}

interface Waterable extends Tendable
{
    public function water(int $litres): void;
}

trait Watering
{
    function soak() { helper(); }
}

enum Weather: string
{
    case Sun = 'sun';
    case Rain = 'rain';

    public static function wet(): self { return self::Rain; }
}

// Helps.
function helper(): void
{
    echo "helped";
}

class BedTest extends TestCase
{
    public function testWatersEveryRow(): void
    {
        $bed = new Bed(new Pump());
        $bed->water(3);
    }

    #[Test]
    public function counts_rows(): void
    {
        $this->assertSame(4, Bed::ROWS);
    }
}
?>
<p>Done</p>
