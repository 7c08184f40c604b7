using System;
using System.Collections.Generic;
using static System.Math;
using Pipe = Garden.Tools.Hose;

namespace Garden.Beds
{
    /// <summary>
    /// A bed of plants, see <see cref="Row"/>.
    /// </summary>
    /// <param name="litres">how much</param>
    [Serializable]
    public class Bed<T> : Plot, IWaterable where T : Plant
    {
        public const int MaxRows = 12;
        private static readonly Logger Log = Logger.Of("bed");
        private readonly List<T> plants;

        public Bed(List<T> plants) : base(plants.Count) => this.plants = plants;

        ~Bed() { Dispose(); }

        public int Count { get { return CountRows(); } private set { } }
        public T this[int at] => plants[at];
        public event EventHandler Watered;

        // Waters every row.
        public override async Task Water(int litres)
        {
            this.Check(litres);
            await Pump.RunAsync(litres);
            Garden.Tools.Spade.Dig(litres);
            plants.ForEach(plant => plant.Drink());
            Watered?.Invoke(this, null);
            var pipe = new Pipe(litres);
            Pick<int>(litres);
            base.Water(litres);
            int Local(int x) => Twice(x);
        }

        protected internal bool Check(int litres) => litres > 0;

        private static K Pick<K>(K first) { return first; }

        public static bool operator ==(Bed<T> a, Bed<T> b) => a.Equals(b);

        internal struct Row { public int Count; }
    }

    public interface IWaterable : ITendable
    {
        Task Water(int litres);
    }

    public enum Weather { Sun, Rain = 4 }

    public record Rose(string Name) : Plant(Name);

    public record struct Drop(int Size);

    public delegate void Waterer(int litres);

    public static class Extensions
    {
        public static int Twice(this int x) => x * 2;
    }
}

namespace Garden.Tests
{
    public class BedTests
    {
        [Fact]
        public void WatersEveryRow()
        {
            var bed = new Bed<Rose>(new());
            bed.Water(3);
        }

        [Theory, InlineData(1)]
        public void CountsRows(int rows) { Assert.Equal(rows, Extensions.Twice(rows)); }
    }
}
