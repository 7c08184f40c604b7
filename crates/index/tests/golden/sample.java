/* Licensed to nobody. */
package org.garden.beds;

import java.util.List;
import java.util.concurrent.*;
import static org.garden.tools.Spade.dig;
import org.junit.jupiter.api.Test;

/**
 * A bed of plants.
 *
 * <p>Beds are watered row by row.
 * @param <T> what grows in it
 */
@Deprecated
public class Bed<T extends Plant> extends Plot implements Waterable, Comparable<Bed<T>> {
    /** How many rows fit. */
    public static final int MAX_ROWS = 12, MIN_ROWS = 1;
    private static Logger log = Logger.of("bed");
    private final List<T> plants;

    // Not documentation for the reader of the interface, but the only words there are.
    public Bed(List<T> plants) {
        super(plants.size());
        this.plants = plants;
    }

    @Override
    public void water(int litres) throws DroughtException {
        this.check(litres);
        dig(litres);
        plants.forEach(Plant::drink);
        Pump.getDefault().run(new Hose(litres));
        super.water(litres);
        org.garden.tools.Spade.clean();
        Runnable later = () -> rest();
    }

    protected int check(int litres) {
        class Local {
            void inner() { helper(); }
        }
        return litres;
    }

    void rest() {}

    static <K> K pick(K first) { return first; }

    public sealed interface Row permits LongRow, ShortRow {
        int LENGTH = 4;
        int count();
        default boolean empty() { return count() == 0; }
    }

    record LongRow(int count, String name) implements Row {
        LongRow {
            if (count < 0) throw new IllegalArgumentException(name);
        }
    }

    /** What the weather does. */
    private enum Weather {
        SUN { @Override boolean wet() { return false; } },
        RAIN;

        boolean wet() { return true; }
    }

    public @interface Tended {
        String by() default "nobody";
    }
}

interface Waterable extends Tendable, Closeable {
    void water(int litres);
}

class BedTest {
    @Test
    void watersEveryRow() {
        Bed<Rose> bed = new Bed<>(List.of());
        bed.water(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void countsRows(int rows) {
        assertEquals(rows, Bed.pick(rows));
    }
}
