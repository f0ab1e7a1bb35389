using System.Globalization;
using Azure;
using Azure.Data.Tables;
using static Tidemark.Tests.Tables.Clients;

namespace Tidemark.Tests.Tables;

/// Values of every type come back as they went in, or are refused.
public sealed class Types(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly TableClient table = fresh.Client;

    async Task<object?> Stored(object? value)
    {
        var key = Stores.FreshName();
        await table.AddEntityAsync(new TableEntity("types", key) { ["V"] = value });
        TableEntity read = await table.GetEntityAsync<TableEntity>("types", key);
        // A query has the same value as a point, and the same type.
        var queried = Assert.Single(await table.Find($"PartitionKey eq 'types' and RowKey eq '{key}'"));
        Assert.Equal(read["V"], queried["V"]);
        return read["V"];
    }

    [Theory]
    [InlineData("")]
    [InlineData(" ")]
    [InlineData("it's \"quoted\" \\ and / slashed")]
    [InlineData("h\u00e9llo \u65e5\u672c \ud83d\ude00 \udbff\udfff")]
    [InlineData("\0\u0001\b\t\n\v\f\r\u001f\u007f\u0085\u2028\u2029\ufeff")]
    [InlineData("2024-02-03T04:05:06Z")]
    [InlineData("12345678901234567890")]
    [InlineData("0d391d16-97f1-4b9a-be68-4cc871f90001")]
    [InlineData("<a>&amp;</a>")]
    [InlineData("AQID")]
    [InlineData("Infinity")]
    public async Task A_string(string text) => Assert.Equal(text, await Stored(text));

    [Fact]
    public async Task The_longest_string()
    {
        var text = new string('\u65e5', 32 * 1024);
        Assert.Equal(text, await Stored(text));
        await Refused.With(400, "PropertyValueTooLarge", () => Stored(text + "x"));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(int.MaxValue)]
    [InlineData(int.MinValue)]
    public async Task An_int(int value) => Assert.Equal(value, await Stored(value));

    [Theory]
    [InlineData(0L)]
    [InlineData(5L)]
    [InlineData(9007199254740993L)]
    [InlineData(long.MaxValue)]
    [InlineData(long.MinValue)]
    public async Task A_long(long value) => Assert.Equal(value, await Stored(value));

    [Theory]
    [InlineData(0.0)]
    [InlineData(3.0)]
    [InlineData(-2.25)]
    [InlineData(0.1)]
    [InlineData(1e20)]
    [InlineData(3000000000.0)]
    [InlineData(double.MaxValue)]
    [InlineData(double.MinValue)]
    [InlineData(double.Epsilon)]
    [InlineData(Math.PI)]
    [InlineData(double.NaN)]
    public async Task A_double(double value) => Assert.Equal(value, Assert.IsType<double>(await Stored(value)));

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_bool(bool value) => Assert.Equal(value, await Stored(value));

    [Theory]
    [InlineData("2024-02-29T12:00:00.0000000Z")]
    [InlineData("2024-02-03T04:05:06.1234567Z")]
    [InlineData("1601-01-01T00:00:00.0000000Z")]
    [InlineData("9999-12-31T23:59:59.9999999Z")]
    [InlineData("2024-01-01T01:30:00.0000000+02:00")]
    public async Task A_date(string text)
    {
        var date = DateTimeOffset.Parse(text, CultureInfo.InvariantCulture);
        Assert.Equal(date, Assert.IsType<DateTimeOffset>(await Stored(date)));
        Assert.Equal(date, await Stored(date.UtcDateTime));
    }

    [Fact]
    public async Task A_date_before_1601_is_refused() =>
        await Refused.With(400, "OutOfRangeInput", () => Stored(new DateTimeOffset(1600, 12, 31, 23, 59, 59, TimeSpan.Zero)));

    [Fact]
    public async Task The_default_date_of_NET_is_refused()
    {
        // A property of type DateTime that a program forgot to set: the best-known refusal of this store.
        await Refused.With(400, "OutOfRangeInput", () => Stored(default(DateTimeOffset)));
    }

    [Fact]
    public async Task A_guid()
    {
        var guid = Guid.Parse("0D391D16-97F1-4B9A-BE68-4CC871F90001");
        Assert.Equal(guid, Assert.IsType<Guid>(await Stored(guid)));
        Assert.Equal(Guid.Empty, await Stored(Guid.Empty));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(255)]
    [InlineData(65536)]
    public async Task Bytes(int size) => Assert.Equal(Stores.Bytes(size), Assert.IsType<byte[]>(await Stored(Stores.Bytes(size))));

    [Fact]
    public async Task Too_many_bytes() => await Refused.With(400, "PropertyValueTooLarge", () => Stored(new byte[65537]));

    [Fact]
    public async Task BinaryData_is_bytes() => Assert.Equal(new byte[] { 1, 2, 3 }, await Stored(BinaryData.FromBytes(new byte[] { 1, 2, 3 })));

    [Fact]
    public async Task Null_is_no_property()
    {
        var key = Stores.FreshName();
        await table.AddEntityAsync(new TableEntity("types", key) { ["V"] = null, ["W"] = 1 });
        TableEntity read = await table.GetEntityAsync<TableEntity>("types", key);
        Assert.False(read.ContainsKey("V"));
        // In a merge, too: the value stays.
        await table.UpdateEntityAsync(new TableEntity("types", key) { ["W"] = null, ["X"] = 2 }, ETag.All);
        read = await table.GetEntityAsync<TableEntity>("types", key);
        Assert.Equal((1, 2), (read.GetInt32("W"), read.GetInt32("X")));
    }

    public enum Colour { Red, Green }

    public sealed class Everything : ITableEntity
    {
        public string PartitionKey { get; set; } = "everything";
        public string RowKey { get; set; } = "";
        public DateTimeOffset? Timestamp { get; set; }
        public ETag ETag { get; set; }
        public string? Text { get; set; }
        public int Int { get; set; }
        public int? NoInt { get; set; }
        public long Long { get; set; }
        public long? MaybeLong { get; set; }
        public double Double { get; set; }
        public bool Bool { get; set; }
        public DateTime Date { get; set; }
        public DateTimeOffset Offset { get; set; }
        public Guid Guid { get; set; }
        public byte[]? Bytes { get; set; }
        public Colour Colour { get; set; }
        [System.Runtime.Serialization.DataMember(Name = "renamed_property")]
        public string? Renamed { get; set; }
        [System.Runtime.Serialization.IgnoreDataMember]
        public string? Ignored { get; set; }
    }

    [Fact]
    public async Task A_class_with_all_types()
    {
        var key = Stores.FreshName();
        var at = new DateTime(2024, 5, 6, 7, 8, 9, DateTimeKind.Utc).AddTicks(1234567);
        var sent = new Everything
        {
            RowKey = key, Text = "text", Int = 1, Long = 1L << 40, MaybeLong = 7, Double = 4, Bool = true, Date = at, Offset = at,
            Guid = Guid.NewGuid(), Bytes = [0, 255], Colour = Colour.Green, Renamed = "r", Ignored = "i",
        };
        await table.AddEntityAsync(sent);
        Everything read = await table.GetEntityAsync<Everything>("everything", key);
        Assert.Equal((sent.Text, 1, null, 1L << 40, 7L, 4.0, true), (read.Text, read.Int, read.NoInt, read.Long, read.MaybeLong, read.Double, read.Bool));
        Assert.Equal((at, new DateTimeOffset(at), sent.Guid, Colour.Green, "r", null), (read.Date.ToUniversalTime(), read.Offset, read.Guid, read.Colour, read.Renamed, read.Ignored));
        Assert.Equal(sent.Bytes, read.Bytes);
        TableEntity raw = await table.GetEntityAsync<TableEntity>("everything", key);
        Assert.Equal(("Green", "r"), (raw.GetString("Colour"), raw.GetString("renamed_property")));
        Assert.IsType<double>(raw["Double"]);
        Assert.NotNull(read.Timestamp);
        Assert.NotEqual(default, read.ETag);
    }

    [Fact]
    public async Task The_timestamp_is_of_the_store_and_agrees_with_the_ETag()
    {
        var key = Stores.FreshName();
        await table.AddEntityAsync(new TableEntity("types", key) { Timestamp = new DateTimeOffset(2001, 1, 1, 0, 0, 0, TimeSpan.Zero) });
        TableEntity read = await table.GetEntityAsync<TableEntity>("types", key);
        Assert.InRange(read.Timestamp!.Value, DateTimeOffset.UtcNow.AddMinutes(-5), DateTimeOffset.UtcNow.AddMinutes(5));
        var inside = Uri.UnescapeDataString(read.ETag.ToString()).Split('\'')[1];
        Assert.Equal(read.Timestamp.Value, DateTimeOffset.Parse(inside, CultureInfo.InvariantCulture));
    }

    [Theory]
    [InlineData("a_1")]
    [InlineData("_a")]
    [InlineData("\u00e4nderung")]
    [InlineData("odata")]
    [InlineData("etag")]
    public async Task A_property_name(string name)
    {
        var key = Stores.FreshName();
        await table.AddEntityAsync(new TableEntity("types", key) { [name] = 5L });
        TableEntity read = await table.GetEntityAsync<TableEntity>("types", key);
        Assert.Equal(5L, read[name]);
    }

    [Theory]
    [InlineData("a-b")]
    [InlineData("a b")]
    [InlineData("1a")]
    public async Task A_bad_property_name(string name) =>
        await Refused.With(400, "PropertyNameInvalid", () => table.AddEntityAsync(new TableEntity("types", Stores.FreshName()) { [name] = 1 }));

    [Fact]
    public async Task A_property_name_too_long() =>
        await Refused.With(400, "PropertyNameTooLong", () => table.AddEntityAsync(new TableEntity("types", Stores.FreshName()) { [new string('n', 256)] = 1 }));

    [Fact]
    public async Task As_many_properties_as_fit()
    {
        TableEntity Wide(int count)
        {
            var entity = new TableEntity("types", Stores.FreshName());
            for (var i = 0; i < count; i++) entity[$"P{i}"] = i;
            return entity;
        }
        var full = Wide(252);
        await table.AddEntityAsync(full);
        TableEntity read = await table.GetEntityAsync<TableEntity>("types", full.RowKey);
        Assert.Equal(252, read.Keys.Count(name => name.StartsWith('P') && name != "PartitionKey"));
        await Refused.With(400, "TooManyProperties", () => table.AddEntityAsync(Wide(253)));
    }

    [Fact]
    public async Task An_entity_of_almost_a_mebibyte_and_one_of_more()
    {
        TableEntity Large(int parts)
        {
            var entity = new TableEntity("types", Stores.FreshName());
            for (var i = 0; i < parts; i++) entity[$"B{i}"] = Stores.Bytes(65536, i);
            return entity;
        }
        var fits = Large(15);
        await table.AddEntityAsync(fits);
        TableEntity read = await table.GetEntityAsync<TableEntity>("types", fits.RowKey);
        Assert.Equal(Stores.Bytes(65536, 14), read.GetBinary("B14"));
        await Refused.With(400, "EntityTooLarge", () => table.AddEntityAsync(Large(16)));
    }
}
